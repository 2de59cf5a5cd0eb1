function {:opaque} AddDigits(xs: seq<int>, ys: seq<int>): (seq<int>, nat) requires |xs| == |ys| ensures var (zs, c) := AddDigits(xs, ys); |zs| == |xs| && 0 <= c <= 1 decreases xs { ([], 0) }
method Q(xs: seq<int>) returns (r: int) ensures var s := |xs|; var t: int, u := s, s + 1; r == t + u ensures if r > 0 then r == 1 else r == 0
