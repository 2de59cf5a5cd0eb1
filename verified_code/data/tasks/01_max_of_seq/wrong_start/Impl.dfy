include "Spec.dfy"

method MaxOf(s: seq<int>) returns (m: int)
  requires |s| > 0
  ensures IsMax(s, m)
{
  m := 0;
  var i := 1;
  while i < |s|
    invariant 1 <= i <= |s|
    invariant exists j :: 0 <= j < i && s[j] == m
    invariant forall j :: 0 <= j < i ==> s[j] <= m
  {
    if s[i] > m { m := s[i]; }
    i := i + 1;
  }
}
