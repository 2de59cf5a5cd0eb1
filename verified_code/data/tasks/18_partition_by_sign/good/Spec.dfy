function Negatives(s: seq<int>): seq<int>
{
  if |s| == 0 then []
  else Negatives(s[..|s| - 1]) + (if s[|s| - 1] < 0 then [s[|s| - 1]] else [])
}

function Others(s: seq<int>): seq<int>
{
  if |s| == 0 then []
  else Others(s[..|s| - 1]) + (if s[|s| - 1] < 0 then [] else [s[|s| - 1]])
}
