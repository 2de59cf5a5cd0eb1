include "Spec.dfy"

method CeilingDivision(a: int, b: int) returns (q: int)
  requires b > 0
{
  q := a / b;
  if a % b != 0 { q := q + 1; }
}
