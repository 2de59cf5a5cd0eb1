include "Spec.dfy"

method SumOfDigits(n: int) returns (d: int)
  requires n >= 0
  ensures d == DigitSum(n)
{
  var rest := n;
  d := 0;
  while rest >= 10
    invariant rest >= 0
    invariant d + DigitSum(rest) == DigitSum(n)
  {
    d := d + rest % 10;
    rest := rest / 10;
  }
  d := d + rest;
}
