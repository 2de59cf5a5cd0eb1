predicate Clamped(x: int, lo: int, hi: int, r: int)
  requires lo <= hi
{
  (x < lo ==> r == lo) &&
  (x > hi ==> r == hi) &&
  (lo <= x <= hi ==> r == x)
}
