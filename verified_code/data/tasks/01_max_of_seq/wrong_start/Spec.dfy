predicate IsMax(s: seq<int>, m: int)
{
  (exists i :: 0 <= i < |s| && s[i] == m) &&
  (forall i :: 0 <= i < |s| ==> s[i] <= m)
}
