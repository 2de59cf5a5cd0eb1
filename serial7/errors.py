"""Whose fault an error is.

```
Serial7Error
├── ModelFault        the answer is at fault: always ends as a FAIL with a reason, never leaves the denominator
│   ├── NoDocument        nothing to judge was found in the raw output
│   ├── NotWellFormed     the strict verdict of the format's standard
│   └── StepFailed        an operation of the model's own graph cannot be executed
├── OperatorError     the person at the keyboard can mend it: bad arguments, bad files, missing packages
└── (everything else)  our own bug: the verdict is ERROR, it is never scored
```
"""

from __future__ import annotations


class Serial7Error(Exception):
    """Root of the errors that this package raises on purpose."""


class ModelFault(Serial7Error):
    """The answer is at fault. `why` is one line for people, `at` the place (`steps[1].value`, `line 3`)."""

    def __init__(self, why: str, at: str = "") -> None:
        super().__init__(why, at)  # both in args: exceptions cross processes by pickle
        self.why = why
        self.at = at

    def __str__(self) -> str:
        return f"{self.why} ({self.at})" if self.at else self.why


class NoDocument(ModelFault):
    """No document, or more than one, stands in the raw output (contracts.md, section 3.2)."""


class NotWellFormed(ModelFault):
    """The document breaks its format's standard or a bound, and no tolerant reading exists."""


class StepFailed(ModelFault):
    """An operation is unknown, has the wrong number of arguments, is undefined there, or would blow up."""


class OperatorError(Serial7Error):
    """Wrong usage: one sentence that says what was seen, where, and the way out."""
