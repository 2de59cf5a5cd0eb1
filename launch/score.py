#!/usr/bin/env python3
"""Judge the stored completions of a run again, without a model: launch/score.py run=runs/<folder>."""

from __future__ import annotations

import sys

import interpreter

if __name__ == "__main__":
    interpreter.ensure()
    from cluster import run

    sys.exit(run.main(run.score, sys.argv[1:]))
