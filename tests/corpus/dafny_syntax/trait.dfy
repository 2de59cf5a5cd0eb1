trait {:termination false} Handle<T, R> extends Checked { ghost var log: seq<(T, R)>
  ghost predicate Valid() reads this, Repr ensures Valid() ==> this in Repr decreases height, 0
  ghost method Note(t: T, r: R) modifies `log ensures log == old(log) + [(t, r)] { log := log + [(t, r)]; } }
