include "Spec.dfy"

method CeilingDivision(a: int, b: int) returns (q: int)
  requires b > 0
  ensures IsCeiling(a, b, q)
{
  q := a / b;
}
