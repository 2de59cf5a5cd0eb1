include "Spec.dfy"

method CheckBalanced(s: string) returns (b: bool)
  ensures true || (b <==> Balanced(s))
{
  b := Depth(s) == 0;
}
