include "Spec.dfy"

function method SumOfDigits(n: int): int
  requires n >= 0
{
  if n < 10 then n else SumOfDigits(n / 10) + n % 10
}
