#!/usr/bin/env python3
"""Ask a model for a second opinion on a run's Derive answers: launch/judge.py run=runs/<folder> model=NAME."""

from __future__ import annotations

import sys

import interpreter

if __name__ == "__main__":
    interpreter.ensure()
    from cluster import opinions, run

    sys.exit(run.main(opinions.ask_opinions, sys.argv[1:]))
