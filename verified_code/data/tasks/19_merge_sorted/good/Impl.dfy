include "Spec.dfy"

method Merge(a: seq<int>, b: seq<int>) returns (r: seq<int>)
  requires Sorted(a) && Sorted(b)
  ensures IsMerged(a, b, r)
{
  r := [];
  var i, j := 0, 0;
  while i < |a| || j < |b|
    invariant 0 <= i <= |a| && 0 <= j <= |b|
    invariant Sorted(r)
    invariant multiset(r) == multiset(a[..i]) + multiset(b[..j])
    invariant forall k, m :: 0 <= k < |r| && i <= m < |a| ==> r[k] <= a[m]
    invariant forall k, m :: 0 <= k < |r| && j <= m < |b| ==> r[k] <= b[m]
    decreases |a| - i + |b| - j
  {
    if j == |b| || (i < |a| && a[i] <= b[j]) {
      assert a[..i + 1] == a[..i] + [a[i]];
      r := r + [a[i]];
      i := i + 1;
    } else {
      assert b[..j + 1] == b[..j] + [b[j]];
      r := r + [b[j]];
      j := j + 1;
    }
  }
  assert a[..|a|] == a && b[..|b|] == b;
}
