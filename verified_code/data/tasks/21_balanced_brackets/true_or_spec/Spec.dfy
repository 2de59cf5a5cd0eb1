function method Depth(s: string): int
{
  if |s| == 0 then 0
  else Depth(s[..|s| - 1]) +
    (if s[|s| - 1] == '(' then 1 else if s[|s| - 1] == ')' then -1 else 0)
}

predicate Balanced(s: string)
{
  Depth(s) == 0 && (forall i :: 0 <= i <= |s| ==> Depth(s[..i]) >= 0)
}
