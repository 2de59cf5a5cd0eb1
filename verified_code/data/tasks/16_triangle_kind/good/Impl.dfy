include "Spec.dfy"

method Classify(a: int, b: int, c: int) returns (k: Kind)
  ensures k == KindOf(a, b, c)
{
  if a + b <= c || b + c <= a || c + a <= b {
    k := NoTriangle;
  } else if a == b && b == c {
    k := Equilateral;
  } else if a == b || b == c || c == a {
    k := Isosceles;
  } else {
    k := Scalene;
  }
}
