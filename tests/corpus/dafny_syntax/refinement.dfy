abstract module M0 { class Counter { ghost var N: int
  constructor Init() ensures N == 0 { } method Inc() requires Valid() modifies Repr ensures N == old(N) + 1 } }
module M1 refines M0 { class Counter ... { ghost predicate Valid... { N == 0 } constructor Init... { ...; } method Inc... { ...; modify ... { } assert ...; } } }
