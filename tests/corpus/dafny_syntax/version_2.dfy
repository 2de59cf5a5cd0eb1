method Old23() returns (fr: int) free ensures true ensures fr == 1
method Kw(yield': int, old_: int, x?: int, _y: int) ensures x? == 1
