include "Spec.dfy"

method Clamp(x: int, lo: int, hi: int) returns (r: int)
  requires lo <= hi
  ensures Clamped(x, lo, hi, r)
{
  if x < lo {
    r := lo;
  } else if x > hi {
    r := hi;
  } else {
    r := x;
  }
}
