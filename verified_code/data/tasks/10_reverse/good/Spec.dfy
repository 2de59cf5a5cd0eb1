predicate IsReverse(s: seq<int>, r: seq<int>)
{
  |r| == |s| &&
  (forall i :: 0 <= i < |s| ==> r[i] == s[|s| - 1 - i])
}
