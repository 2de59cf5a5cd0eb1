include "Spec.dfy"

method Reverse(s: seq<int>) returns (r: seq<int>)
  ensures |r| == |s|
{
  r := [];
  var i := |s|;
  while i > 0
    invariant 0 <= i <= |s|
    invariant |r| == |s| - i
    invariant forall j :: 0 <= j < |r| ==> r[j] == s[|s| - 1 - j]
  {
    i := i - 1;
    r := r + [s[i]];
  }
}

lemma ReverseTwice(s: seq<int>, r: seq<int>, t: seq<int>)
  requires IsReverse(s, r) && IsReverse(r, t)
  ensures IsReverse(t, r)
{
  forall i | 0 <= i < |t|
    ensures r[i] == t[|t| - 1 - i]
  {
    assert t[|t| - 1 - i] == r[|r| - 1 - (|t| - 1 - i)];
  }
}
