include "Spec.dfy"

method SortedInsert(s: seq<int>, x: int) returns (r: seq<int>)
  requires Sorted(s)
  ensures Inserted(s, x, r)
{
  var i := 0;
  while i < |s| && s[i] < x
    invariant 0 <= i <= |s|
    invariant forall j :: 0 <= j < i ==> s[j] < x
  {
    i := i + 1;
  }
  r := s[..i] + [x] + s[i..];
  assert s == s[..i] + s[i..];
}
