function Sum(s: seq<int>): int
{
  if |s| == 0 then 0 else Sum(s[..|s| - 1]) + s[|s| - 1]
}

predicate ArePrefixSums(s: seq<int>, r: seq<int>)
{
  |r| == |s| &&
  (forall i :: 0 <= i < |s| ==> r[i] == Sum(s[..i + 1]))
}
