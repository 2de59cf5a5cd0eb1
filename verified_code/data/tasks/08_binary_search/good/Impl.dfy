include "Spec.dfy"

method BinarySearch(s: seq<int>, x: int) returns (k: int)
  requires Sorted(s)
  ensures IsPosition(s, x, k)
{
  var lo, hi := 0, |s|;
  while lo < hi
    invariant 0 <= lo <= hi <= |s|
    invariant forall i :: 0 <= i < lo ==> s[i] < x
    invariant forall i :: hi <= i < |s| ==> s[i] > x
  {
    var mid := (lo + hi) / 2;
    if s[mid] == x { return mid; }
    if s[mid] < x { lo := mid + 1; } else { hi := mid; }
  }
  k := -1;
}
