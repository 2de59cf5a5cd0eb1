predicate IsPair(s: seq<int>, total: int, i: int, j: int)
{
  if i == -1 then
    j == -1 && (forall a, b :: 0 <= a < b < |s| ==> s[a] + s[b] != total)
  else
    0 <= i < j < |s| && s[i] + s[j] == total
}
