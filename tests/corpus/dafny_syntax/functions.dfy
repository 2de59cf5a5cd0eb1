function Named(n: nat): (xs: seq<int>) ensures |xs| == n { [] }
function Defaults(x: int := 5, nameonly y: int := 6, ghost z: nat := 0): int { x }
function Older(older x: C, y: C): bool
twostate function TF(x: C): int reads x { old(x.f) }
twostate predicate Inc(c: C) reads c { old(c.f) <= c.f }
twostate lemma TL(c: C) ensures old(c.f) <= c.f
least predicate Reach[nat](x: int) { x == 0 || Reach(x - 1) }
greatest predicate G(x: int) { true }
least lemma LL[ORDINAL](x: int) requires Reach(x) ensures x >= 0 { }
greatest lemma {:induction false} GL(x: int) ensures G(x)
inductive predicate Old1(x: int) { true }
copredicate Old2(x: int) { true }
colemma Old3(x: int) ensures Old2(x) { }
opaque function OF(): int { 3 }
opaque ghost predicate OP() { true }
static ghost function SG(): int
function method FM(x: int): int { x }
predicate method PM(x: int) { true }
