function Gcd(a: int, b: int): int
  requires a > 0 && b > 0
  decreases a + b
{
  if a == b then a else if a > b then Gcd(a - b, b) else Gcd(a, b - a)
}
