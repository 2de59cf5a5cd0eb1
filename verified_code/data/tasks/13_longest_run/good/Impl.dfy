include "Spec.dfy"

method LongestRun(s: seq<int>) returns (n: int)
  ensures IsLongestRun(s, n)
{
  n := 0;
  var run := 0;
  var i := 0;
  while i < |s|
    invariant 0 <= i <= |s|
    invariant i > 0 ==> run == RunEndingAt(s, i - 1)
    invariant i == 0 ==> n == 0
    invariant i > 0 ==> exists j :: 0 <= j < i && RunEndingAt(s, j) == n
    invariant forall j :: 0 <= j < i ==> RunEndingAt(s, j) <= n
  {
    if i > 0 && s[i - 1] == s[i] { run := run + 1; } else { run := 1; }
    assert run == RunEndingAt(s, i);
    if i == 0 || run > n { n := run; }
    i := i + 1;
  }
}
