include "Spec.dfy"

method RotateLeft(s: seq<int>, k: int) returns (r: seq<int>)
  requires 0 <= k <= |s|
  ensures IsRotated(s, k, r)
{
  r := s[k..] + s[..k];
}
