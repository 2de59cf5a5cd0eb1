include "Spec.dfy"

method CheckBalanced(s: string) returns (b: bool)
  ensures b <==> Balanced(s)
{
  var depth, i := 0, 0;
  assert s[..|s|] == s;
  while i |s|
    invariant 0 <= i <= |s|
    invariant depth == Depth(s[..i])
    invariant forall j :: 0 <= j <= i ==> Depth(s[..j]) >= 0
  {
    assert s[..i + 1][..i] == s[..i];
    if s[i] == '(' { depth := depth + 1; }
    if s[i] == ')' { depth := depth - 1; }
    i := i + 1;
    if depth < 0 { b := false; return; }
  }
  b := depth == 0;
}
