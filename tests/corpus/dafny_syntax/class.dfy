class {:extern "a"} K<T(==), U(0), W(!new, 00)> extends A, B<int>, C.D<seq<T>> { var x: T, y: U const c: int := 5 ghost const g: nat static const s := "a"
 var arr: array2<int>, o: K?<T, U, W> constructor {:extern} (x: T) requires true ensures fresh(this) constructor Other() method {:test} m()
 static function f(): int -> bool method n?(q': int) returns (r_: int, ghost s: int) ensures r_ == q' }
