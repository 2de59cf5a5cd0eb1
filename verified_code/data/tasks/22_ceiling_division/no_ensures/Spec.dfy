predicate IsCeiling(a: int, b: int, q: int)
  requires b > 0
{
  (q - 1) * b < a <= q * b
}
