module {:compile false} Mx { method M() ensures exists x, y: int :: x < y ensures forall x: int, y :: x < y ensures exists x | x > 0 :: true ensures exists x | x > 0, y <- s | y > x :: y == x }
