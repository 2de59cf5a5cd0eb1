predicate IsLeapYear(y: int)
{
  y % 4 == 0
}
