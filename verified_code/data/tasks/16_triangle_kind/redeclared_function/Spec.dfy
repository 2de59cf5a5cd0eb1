datatype Kind = NoTriangle | Equilateral | Isosceles | Scalene

function KindOf(a: int, b: int, c: int): Kind
{
  if a + b <= c || b + c <= a || c + a <= b then NoTriangle
  else if a == b && b == c then Equilateral
  else if a == b || b == c || c == a then Isosceles
  else Scalene
}
