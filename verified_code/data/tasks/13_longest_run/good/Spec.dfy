function RunEndingAt(s: seq<int>, i: int): int
  requires 0 <= i < |s|
{
  if i == 0 || s[i - 1] != s[i] then 1 else 1 + RunEndingAt(s, i - 1)
}

predicate IsLongestRun(s: seq<int>, n: int)
{
  if |s| == 0 then n == 0
  else
    (exists i :: 0 <= i < |s| && RunEndingAt(s, i) == n) &&
    (forall i :: 0 <= i < |s| ==> RunEndingAt(s, i) <= n)
}
