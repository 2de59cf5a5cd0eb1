include "Spec.dfy"

module Code {
  datatype Kind = NoTriangle | Equilateral | Isosceles | Scalene

  function method KindOf(a: int, b: int, c: int): Kind
  {
    if a == b && b == c then Equilateral
    else if a == b || b == c || c == a then Isosceles
    else Scalene
  }

  method Classify(a: int, b: int, c: int) returns (k: Kind)
    ensures k == KindOf(a, b, c)
  {
    k := KindOf(a, b, c);
  }
}
