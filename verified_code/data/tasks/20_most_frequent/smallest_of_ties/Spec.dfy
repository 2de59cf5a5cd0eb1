function method Count(s: seq<int>, x: int): int
{
  if |s| == 0 then 0
  else Count(s[..|s| - 1], x) + (if s[|s| - 1] == x then 1 else 0)
}

predicate IsMostFrequent(s: seq<int>, m: int)
{
  (exists i :: 0 <= i < |s| && s[i] == m) &&
  (forall i :: 0 <= i < |s| ==> Count(s, s[i]) <= Count(s, m)) &&
  (forall i :: 0 <= i < |s| && Count(s, s[i]) == Count(s, m) ==> m <= s[i])
}
