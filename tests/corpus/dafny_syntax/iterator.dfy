iterator Gen(n: nat) yields (x: int, ghost y: int) requires n > 0 reads {} modifies {} yield requires true yield ensures x >= 0 ensures true decreases n { yield 1, 2; }
