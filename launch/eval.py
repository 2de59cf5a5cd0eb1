#!/usr/bin/env python3
"""Ask a model for the requests of the grid, judge and count: launch/eval.py model=demo limit=28."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(
    0, str(Path(__file__).resolve().parent.parent)
)  # the checkout or the job's copy of it, installed or not

from cluster import run

if __name__ == "__main__":
    sys.exit(run.main(run.evaluate, sys.argv[1:]))
