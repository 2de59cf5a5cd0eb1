predicate IsRotation(s: seq<int>, k: int, r: seq<int>)
  requires 0 <= k <= |s|
{
  |r| == |s| &&
  (forall i :: 0 <= i < |s| ==> r[i] == (if i - k >= 0 then s[i - k] else s[i - k + |s|]))
}
