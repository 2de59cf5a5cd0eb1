const Pi: real := 3.14
const c2 := [1, 2, 3]
ghost const gg: set<int>
method Multi(x: int, y: int) returns (a: int, b: int) requires x < y ensures a == x; ensures b == y; ensures a != b
function Gen1<T>(f: T ~> bool, x: T): bool requires f.requires(x) reads f.reads(x) { f(x) }
function Ite(b: bool): int { if b then var x := 3; x else if !b then 4 else 5 }
