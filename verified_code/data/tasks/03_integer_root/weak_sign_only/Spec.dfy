predicate IsRoot(n: int, r: int)
{
  r >= 0
}
