function DigitSum(n: int): int
  requires n >= 0
{
  if n < 10 then n else DigitSum(n / 10) + n % 10
}
