#!/usr/bin/env python3
"""Audit samples of verified code on the cluster: launch/audit.py samples=DIR out=DIR conditional=true."""

from __future__ import annotations

import sys

import interpreter

if __name__ == "__main__":
    interpreter.ensure()
    from cluster import auditing, run

    sys.exit(run.main(auditing.audit, sys.argv[1:]))
