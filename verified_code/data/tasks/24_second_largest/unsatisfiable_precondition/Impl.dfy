include "Spec.dfy"

method SecondLargest(s: seq<int>) returns (m: int)
  requires HasTwoValues(s)
  ensures IsSecondLargest(s, m)
{
  var top := 0;
  var i := 1;
  while i < |s|
    invariant 0 <= top < i <= |s|
    invariant forall k :: 0 <= k < i ==> s[k] <= s[top]
  {
    if s[i] > s[top] { top := i; }
    i := i + 1;
  }
  var best := -1;
  i := 0;
  while i < |s|
    invariant 0 <= i <= |s|
    invariant -1 <= best < i
    invariant best == -1 ==> forall k :: 0 <= k < i ==> s[k] == s[top]
    invariant best >= 0 ==> s[best] < s[top]
    invariant best >= 0 ==> forall k :: 0 <= k < i ==> s[k] == s[top] || s[k] <= s[best]
  {
    if s[i] != s[top] && (best < 0 || s[i] > s[best]) { best := i; }
    i := i + 1;
  }
  m := s[best];
}
