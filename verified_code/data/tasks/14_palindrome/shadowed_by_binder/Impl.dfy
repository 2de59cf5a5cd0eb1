include "Spec.dfy"

method CheckPalindrome(s: string) returns (b: bool)
  ensures b ==> forall IsPalindrome :: 0 <= IsPalindrome < |s| ==> s[IsPalindrome] == s[|s| - 1 - IsPalindrome]
  ensures !b ==> exists IsPalindrome :: 0 <= IsPalindrome < |s| && s[IsPalindrome] != s[|s| - 1 - IsPalindrome]
{
  b := true;
  var i := 0;
  while i < |s|
    invariant 0 <= i <= |s|
    invariant forall j :: 0 <= j < i ==> s[j] == s[|s| - 1 - j]
  {
    if s[i] != s[|s| - 1 - i] { b := false; return; }
    i := i + 1;
  }
}
