datatype Variance<+A, -B, *C, !D> = V(a: A) | W(B -> int)
datatype Leading = | One | Two(x: int, ghost y: nat) | ghost Three { predicate IsOne() { One? } static const K := 3
  function Get(): int requires Two? { x } }
codatatype Stream<T> = Cons(head: T, tail: Stream<T>)
datatype {:extern "x.y"} Ext = Ext(0: int, int)
