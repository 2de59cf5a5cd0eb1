include "Spec.dfy"

method CountOccurrences(s: seq<int>, x: int) returns (c: int)
  ensures c == Count(s, x)
{
  c := 0;
  var i := 1;
  while i < |s|
    invariant 0 <= i <= |s|
    invariant c == Count(s[..i], x)
  {
    assert s[..i + 1][..i] == s[..i];
    if s[i] == x { c := c + 1; }
    i := i + 1;
  }
  assert s[..|s|] == s;
}
