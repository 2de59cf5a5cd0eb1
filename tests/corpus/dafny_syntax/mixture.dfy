method A(s: seq<int>, i: nat)
  requires i < |s|
  ensures |s| > 0 && (var x := s[i]; x > 0 || x <= 0)
  ensures forall j {:trigger s[j]} :: 0 <= j < |s| ==> (s[j] > 0 ==> exists k | 0 <= k < |s| :: s[k] == s[j] + 1)
  ensures s == [] || s[|s|-1] == s[..|s|][|s|-1]
  ensures (forall x :: x in s ==> x > 0) ==> true

method B() returns (x: (int, bool), y: seq<(int, seq<nat>)>)
  ensures x == (x.0, x.1) && y != [(1, [2])] + [] && (iset x | x > 0) != iset{}
  ensures "a" + "b" == "ab" && 'a' < 'b' && "" == []
  ensures var (p, q) := x; p == 0 && !q
  ensures x.0 in {1, 2} * {3} - {4} + set z | z in {5}
function {:inline} {:opaque} f<A(!new), B>(a: A, b: B, g: (A, B) -> bool): (r: bool) ensures r == g(a, b)
class C { ghost const Repr: set<object?> var next: C? twostate predicate P() reads this constructor () { } method {:axiom} N() returns (c: C?) ensures c != null ==> c.next == this ensures if c == null then true else c.next.next != null }
method D<T, U(==)>(x: T, ys: seq<U>) returns (z: map<U, set<T>>) ensures forall y :: y in z.Keys <==> y in ys ensures z.Values == {} && z.Items != {} ensures x as object is C
