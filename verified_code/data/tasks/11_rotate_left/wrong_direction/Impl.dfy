include "Spec.dfy"

method RotateLeft(s: seq<int>, k: int) returns (r: seq<int>)
  requires 0 <= k <= |s|
  ensures IsRotation(s, k, r)
{
  r := s[|s| - k..] + s[..|s| - k];
}
