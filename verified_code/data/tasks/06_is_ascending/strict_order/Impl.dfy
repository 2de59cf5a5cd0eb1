include "Spec.dfy"

method CheckAscending(s: seq<int>) returns (b: bool)
  ensures b <==> Ascending(s)
{
  b := true;
  var i := 1;
  while i < |s|
    invariant 1 <= i && (|s| > 0 ==> i <= |s|)
    invariant forall j, k :: 0 <= j < k < i && k < |s| ==> s[j] < s[k]
  {
    if s[i - 1] >= s[i] { b := false; return; }
    i := i + 1;
  }
}
