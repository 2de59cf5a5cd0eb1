predicate HasTwoValues(s: seq<int>)
{
  exists i, j :: 0 <= i < |s| && 0 <= j < |s| && s[i] < s[j]
}

predicate IsSecondLargest(s: seq<int>, m: int)
{
  (exists i :: 0 <= i < |s| && s[i] == m) &&
  (exists j :: 0 <= j < |s| && m < s[j] &&
    (forall k :: 0 <= k < |s| ==> s[k] == s[j] || s[k] <= m))
}
