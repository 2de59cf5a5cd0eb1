module A.B.C { export Public provides F, D.M reveals T, U extends Other
 export reveals * export Friend extends Public provides * export E2 reveals D
 import X import Y = Z.W import opened P : Q import opened R = S import V`E1 import VV = V`{E1, E2} }
replaceable module RM { } module Rep replaces RM { }
