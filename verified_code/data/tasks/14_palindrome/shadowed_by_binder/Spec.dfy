predicate IsPalindrome(s: string)
{
  forall i :: 0 <= i < |s| ==> s[i] == s[|s| - 1 - i]
}
