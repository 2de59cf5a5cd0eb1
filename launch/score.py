#!/usr/bin/env python3
"""Judge the stored completions of a run again, without a model: launch/score.py run=runs/<folder>."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(
    0, str(Path(__file__).resolve().parent.parent)
)  # the checkout or the job's copy of it, installed or not

from cluster import run

if __name__ == "__main__":
    sys.exit(run.main(run.score, sys.argv[1:]))
