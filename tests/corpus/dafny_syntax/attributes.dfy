method {:verify false} {:timeLimit 3} Attr(x: int) requires {:error "no"} x > 0 ensures {:error "a", "b"} forall y: int {:trigger P(y)} {:trigger Q(y), R(y)} | y > 0 :: P(y)
