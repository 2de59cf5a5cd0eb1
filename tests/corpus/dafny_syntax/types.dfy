type Agg<T(!new)> = a: Act<T, bool> | exists n :: Ends(a, false, n) witness *
type Even = x: int | x % 2 == 0 witness 4
type Opaque(==, 0, !new)
type Ghostly = x: int | x > 0 ghost witness 1
newtype {:nativeType "int"} i32 = x: int | -0x8000_0000 <= x < 0x8000_0000
newtype Age = nat
newtype R1 = x: real | 0.0 <= x
