"""Errors of the job, and the exit code each one ends in.

```
JobError
├── UsageError        2  config, arguments, paths, missing packages: nothing was started, nothing half-written
├── EngineError       3  a served engine cannot start or does not come back; what arrived is stored
├── StoreError        3  the run folder cannot be written or read any more; what was stored before is kept
├── Incomplete        3  the run ended with requests unanswered; the same command resumes it
└── BudgetReached     4  a budget of the config is used up; the same command with a larger one resumes it
```
Every one pickles: it crosses Ray.
"""

from __future__ import annotations


class JobError(Exception):
    """Root of the errors that the job raises on purpose: one sentence with the way out."""

    exit_code = 1


class UsageError(JobError):
    exit_code = 2


class EngineError(JobError):
    exit_code = 3


class StoreError(JobError):
    exit_code = 3


class Incomplete(JobError):
    exit_code = 3


class BudgetReached(JobError):
    exit_code = 4
