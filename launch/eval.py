#!/usr/bin/env python3
"""Ask a model for the requests of the grid, judge and count: launch/eval.py model=demo limit=28."""

from __future__ import annotations

import sys

import interpreter

if __name__ == "__main__":
    interpreter.ensure()
    from cluster import run

    sys.exit(run.main(run.evaluate, sys.argv[1:]))
