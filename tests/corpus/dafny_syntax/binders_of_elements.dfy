ghost predicate Only<T, R>(h: seq<(T, R)>, c: R) { forall e <- h :: e.1 == c }
method M<T, R>(h: seq<(T, R)>, c: R) ensures forall e <- h :: e.1 == c
