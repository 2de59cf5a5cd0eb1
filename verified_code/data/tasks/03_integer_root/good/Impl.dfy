include "Spec.dfy"

method IntegerRoot(n: int) returns (r: int)
  requires n >= 0
  ensures IsRoot(n, r)
{
  r := 0;
  while (r + 1) * (r + 1) <= n
    invariant r >= 0 && r * r <= n
    decreases n - r * r
  {
    r := r + 1;
  }
}
