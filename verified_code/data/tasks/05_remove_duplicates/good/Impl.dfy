include "Spec.dfy"

method RemoveDuplicates(s: seq<int>) returns (r: seq<int>)
  ensures IsDeduplicated(s, r)
{
  r := [];
  var i := 0;
  while i < |s|
    invariant 0 <= i <= |s|
    invariant Distinct(r)
    invariant forall j :: 0 <= j < i ==> s[j] in r
    invariant forall j :: 0 <= j < |r| ==> r[j] in s
  {
    var k := 0;
    while k < |r| && r[k] != s[i]
      invariant 0 <= k <= |r|
      invariant forall j :: 0 <= j < k ==> r[j] != s[i]
    {
      k := k + 1;
    }
    if k == |r| { r := r + [s[i]]; }
    i := i + 1;
  }
}
