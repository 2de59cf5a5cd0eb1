predicate Sorted(s: seq<int>)
{
  forall i, j :: 0 <= i < j < |s| ==> s[i] <= s[j]
}

predicate IsMerged(a: seq<int>, b: seq<int>, r: seq<int>)
{
  Sorted(r) && multiset(r) == multiset(a) + multiset(b)
}
