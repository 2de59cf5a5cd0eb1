include "Spec.dfy"

method PrefixSums(s: seq<int>) returns (r: seq<int>)
  ensures ArePrefixSums(s, r)
{
  r := [];
  var total := 0;
  var i := 0;
  while i < |s|
    invariant 0 <= i <= |s|
    invariant |r| == i
    invariant total == Sum(s[..i])
    invariant forall j :: 0 <= j < i ==> r[j] == Sum(s[..j + 1])
  {
    assert s[..i + 1][..i] == s[..i];
    total := total + s[i];
    r := r + [total];
    i := i + 1;
  }
