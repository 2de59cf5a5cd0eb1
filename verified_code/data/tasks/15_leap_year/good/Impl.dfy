include "Spec.dfy"

method LeapYear(y: int) returns (b: bool)
  requires y > 0
  ensures b <==> IsLeapYear(y)
{
  if y % 400 == 0 {
    b := true;
  } else if y % 100 == 0 {
    b := false;
  } else {
    b := y % 4 == 0;
  }
}
