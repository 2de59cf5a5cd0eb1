include "Spec.dfy"

method Reverse(s: seq<int>) returns (r: seq<int>)
  ensures IsReverse(s, r)
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
