include "Spec.dfy"

method LeapYear(y: int) returns (b: bool)
  requires y > 0
  ensures b <==> IsLeapYear(y)
{
  b := y % 4 == 0;
}
