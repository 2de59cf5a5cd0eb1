function F(x: int): int { x } by method { return x; }
ghost function G2(x: int): (r: int) requires x > 0 reads * ensures r > 0
predicate P2(x: int, y: int) reads set c | c in s :: c`f { x < y < 3 <= 4 == 4 }
lemma L2(a: nat, b: nat) requires a * b == 0 ensures a == 0 || b == 0 ensures && a >= 0 && b >= 0 ensures || a > 0 || true { }
