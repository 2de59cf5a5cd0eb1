include "Spec.dfy"

method GreatestCommonDivisor(a: int, b: int) returns (g: int)
  requires a > 0 && b > 0
  ensures g == Gcd(a, b)
{
  var x, y := a, b;
  while x != y
    invariant x > 0 && y > 0
    invariant Gcd(x, y) == Gcd(a, b)
    decreases x + y
  {
    if x > y { x := x - y; } else { y := y - x; }
  }
  g := x;
}
