#!/usr/bin/env python3
"""Measure throughput: the engine alone, through the job, and the client: launch/bench.py model=demo limit=60."""

from __future__ import annotations

import sys

import interpreter

if __name__ == "__main__":
    interpreter.ensure()
    from cluster import bench, run

    sys.exit(run.main(bench.bench, sys.argv[1:]))
