include "Spec.dfy"

predicate InOrder(s: seq<int>)
{
  forall i, j :: 0 <= i < j < |s| ==> s[i] <= s[j]
}

method CheckAscending(s: seq<int>) returns (b: bool)
  ensures b <==> InOrder(s)
{
  b := true;
  var i := 1;
  while i < |s|
    invariant 1 <= i && (|s| > 0 ==> i <= |s|)
    invariant forall j, k :: 0 <= j < k < i && k < |s| ==> s[j] <= s[k]
  {
    if s[i - 1] > s[i] { b := false; return; }
    i := i + 1;
  }
}
