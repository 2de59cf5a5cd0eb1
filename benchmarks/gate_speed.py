#!/usr/bin/env python3
"""How long the ensures-binding gate takes a component, and how much cheaper it is than asking the verifier.

    python benchmarks/gate_speed.py [FOLDER ...] [--dafny]

Over every component below the folders (default: the labelled ones of the tests): reading, parsing and judging, CPU time, best
of several rounds each. With `--dafny` one call of Debian's Dafny (parse and resolve only) is measured beside it, as a ratio.
Budget (surfaces.md): median 0.3 ms, at most 10 ms a component. Only ratios of one run mean something on a shared machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from verified_code.component import IMPL, SPEC, Component, load_component  # noqa: E402
from verified_code.gate import judge  # noqa: E402

ROUNDS = 7


def components(folders: list[Path]) -> list[Path]:
    return sorted(Path(f) for root in folders for f, _, names in os.walk(root) if IMPL in names and SPEC in names)


def best(paths: list[Path]) -> list[tuple[float, float, Path]]:
    """(whole, judging alone) in seconds of CPU, the best round of each component."""
    found: dict[Path, tuple[float, float]] = {}
    for _ in range(ROUNDS):
        for path in paths:
            begun = time.process_time()
            component: Component = load_component(path)
            loaded = time.process_time()
            judge(component)
            ended = time.process_time()
            whole, judging = found.get(path, (float("inf"), float("inf")))
            found[path] = (min(whole, ended - begun), min(judging, ended - loaded))
    return sorted((whole, judging, path) for path, (whole, judging) in found.items())


def dafny_seconds(path: Path) -> float:
    """CPU seconds of Debian's Dafny on one component, its children included."""
    before = os.times()
    subprocess.run(
        ["dafny", "/nologo", "/compile:0", "/dafnyVerify:0", IMPL],
        cwd=path, check=False, capture_output=True, timeout=120,
    )  # fmt: skip
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=[ROOT / "tests" / "corpus" / "gate"])
    parser.add_argument("--dafny", action="store_true", help="compare with Debian's Dafny, parse and resolve only")
    arguments = parser.parse_args()
    paths = components(arguments.folders)
    if not paths:
        print("no component (Spec.dfy and Impl.dfy) there", file=sys.stderr)
        return 2
    times = best(paths)
    median = times[len(times) // 2]
    print(f"{len(times)} components, CPU ms a component: median {median[0] * 1e3:.3f}, of that judging "
          f"{median[1] * 1e3:.3f}; largest {times[-1][0] * 1e3:.3f} ({times[-1][2].name})")  # fmt: skip
    if arguments.dafny:
        if shutil.which("dafny") is None:
            print("dafny is not on the PATH (apt-get install dafny)", file=sys.stderr)
            return 2
        asked = dafny_seconds(median[2])
        print(
            f"Dafny's parse and resolve of {median[2].name}: {asked * 1e3:.0f} ms of CPU, {asked / median[0]:.0f} times the gate's"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
