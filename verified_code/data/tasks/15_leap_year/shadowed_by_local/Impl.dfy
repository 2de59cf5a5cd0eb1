include "Spec.dfy"

module YearCode {
  import opened YearSpec

  predicate method IsLeapYear(y: int)
  {
    y % 4 == 0
  }

  method LeapYear(y: int) returns (b: bool)
    requires y > 0
    ensures b <==> IsLeapYear(y)
  {
    b := IsLeapYear(y);
  }
}
