predicate IsCeiling(a: int, b: int, q: int)
  requires b > 0
{
  q * b <= a < (q + 1) * b
}
