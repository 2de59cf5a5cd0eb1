include "Spec.dfy"

method PairWithSum(s: seq<int>, total: int) returns (i: int, j: int)
  ensures IsPair(s, total, i, j)
{
  i := 0;
  while i < |s|
    invariant 0 <= i <= |s|
    invariant forall a, b :: 0 <= a < b < |s| && a < i ==> s[a] + s[b] != total
  {
    j := i + 1;
    while j < |s|
      invariant i < j <= |s|
      invariant forall b :: i < b < j ==> s[i] + s[b] != total
    {
      if s[i] + s[j] == total { return; }
      j := j + 1;
    }
    i := i + 1;
  }
  i, j := -1, -1;
}
