predicate Sorted(s: seq<int>)
{
  forall i, j :: 0 <= i < j < |s| ==> s[i] <= s[j]
}

predicate Inserted(s: seq<int>, x: int, r: seq<int>)
{
  Sorted(r) && (forall v: int :: multiset(r)[v] == multiset(s)[v] + (if v == x then 1 else 0))
}
