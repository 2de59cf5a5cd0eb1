#!/usr/bin/env python3
"""Make artifacts from source rows: launch/build.py sources=PATH out=DIR model=none|NAME per_source=125."""

from __future__ import annotations

import sys

import interpreter

if __name__ == "__main__":
    interpreter.ensure()
    from cluster import building, run

    sys.exit(run.main(building.make, sys.argv[1:]))
