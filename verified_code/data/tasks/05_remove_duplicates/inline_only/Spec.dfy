predicate Distinct(s: seq<int>)
{
  forall i, j :: 0 <= i < j < |s| ==> s[i] != s[j]
}

predicate IsDeduplicated(s: seq<int>, r: seq<int>)
{
  Distinct(r) &&
  (forall i :: 0 <= i < |s| ==> s[i] in r) &&
  (forall i :: 0 <= i < |r| ==> r[i] in s)
}
