predicate IsRoot(n: int, r: int)
{
  (n == 0 ==> r == 0) && (n > 0 ==> r >= 0 && r * r < n <= (r + 1) * (r + 1))
}
