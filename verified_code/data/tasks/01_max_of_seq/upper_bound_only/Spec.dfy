predicate IsMax(s: seq<int>, m: int)
{
  forall i :: 0 <= i < |s| ==> s[i] <= m
}
