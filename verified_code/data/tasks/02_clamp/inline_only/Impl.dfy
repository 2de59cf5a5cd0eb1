include "Spec.dfy"

method Clamp(x: int, lo: int, hi: int) returns (r: int)
  requires lo <= hi
  ensures r == (if x < lo then lo else if x > hi then hi else x)
{
  if x < lo {
    r := lo;
  } else if x > hi {
    r := hi;
  } else {
    r := x;
  }
}
