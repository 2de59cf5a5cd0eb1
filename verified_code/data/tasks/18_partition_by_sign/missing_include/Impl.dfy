method PartitionBySign(s: seq<int>) returns (negative: seq<int>, other: seq<int>)
  ensures negative == Negatives(s)
  ensures other == Others(s)
{
  negative, other := [], [];
  var i := 0;
  while i < |s|
    invariant 0 <= i <= |s|
    invariant negative == Negatives(s[..i])
    invariant other == Others(s[..i])
  {
    assert s[..i + 1][..i] == s[..i];
    if s[i] < 0 { negative := negative + [s[i]]; } else { other := other + [s[i]]; }
    i := i + 1;
  }
  assert s[..|s|] == s;
}
