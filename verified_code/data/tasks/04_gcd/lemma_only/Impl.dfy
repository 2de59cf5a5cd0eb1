include "Spec.dfy"

method GreatestCommonDivisor(a: int, b: int) returns (g: int)
  requires a > 0 && b > 0
  ensures 1 <= g <= a && g <= b
{
  var x, y := a, b;
  while x != y
    invariant x > 0 && y > 0
    invariant x <= a && y <= b
    decreases x + y
  {
    if x > y { x := x - y; } else { y := y - x; }
  }
  g := x;
}

lemma GcdOfEqualNumbers(a: int)
  requires a > 0
  ensures Gcd(a, a) == a
{
}
