predicate IsRoot(n: int, r: int)
{
  r >= 0 && r * r <= n < (r + 1) * (r + 1)
}
