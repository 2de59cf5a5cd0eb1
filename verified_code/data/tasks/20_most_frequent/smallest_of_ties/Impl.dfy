include "Spec.dfy"

method MostFrequent(s: seq<int>) returns (m: int)
  requires |s| > 0
  ensures IsMostFrequent(s, m)
{
  m := s[0];
  var i := 1;
  while i < |s|
    invariant 1 <= i <= |s|
    invariant exists j :: 0 <= j < i && s[j] == m
    invariant forall j :: 0 <= j < i ==> Count(s, s[j]) <= Count(s, m)
    invariant forall j :: 0 <= j < i && Count(s, s[j]) == Count(s, m) ==> m <= s[j]
  {
    if Count(s, s[i]) > Count(s, m) || (Count(s, s[i]) == Count(s, m) && s[i] < m) { m := s[i]; }
    i := i + 1;
  }
}
