predicate Sorted(s: seq<int>)
{
  forall i, j :: 0 <= i < j < |s| ==> s[i] <= s[j]
}

predicate IsPosition(s: seq<int>, x: int, k: int)
{
  if k == -1 then x !in s else 0 <= k < |s| && s[k] == x
}
