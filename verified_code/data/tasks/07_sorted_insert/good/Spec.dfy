predicate Sorted(s: seq<int>)
{
  forall i, j :: 0 <= i < j < |s| ==> s[i] <= s[j]
}

predicate Inserted(s: seq<int>, x: int, r: seq<int>)
{
  Sorted(r) && multiset(r) == multiset(s) + multiset{x}
}
