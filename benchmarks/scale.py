#!/usr/bin/env python3
"""What a run costs its driver as it grows: the gold run, its resume with everything done, and its re-scoring.

    python benchmarks/scale.py [--repeats 1,10,100] [--out FOLDER]

Each size (3,519 requests a repeat) is one `launch/eval.py model=gold` through the whole job, then the same command again
(plan and anti-join, nothing to ask), then `launch/score.py`. Seconds are of the whole command, interpreter and Ray
included; memory is the most that the driver's process held in RAM. The gold model answers at once, so that completions
come as fast as the job can take them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
POLL_S = 0.2


def command(script: str, *arguments: str) -> tuple[float, float]:
    """Run a launch script to its end: seconds, and MiB that its process held at most.

    Raises:
        RuntimeError: it failed.
    """
    began, most = time.monotonic(), 0
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            [sys.executable, str(ROOT / "launch" / script), *arguments], stdout=log, stderr=log
        ) as process,
    ):
        while process.poll() is None:
            most = max(most, _high_water_kib(process.pid))
            time.sleep(POLL_S)
        if process.returncode:
            log.seek(0)
            raise RuntimeError(
                f"{script} {' '.join(arguments)}: exit code {process.returncode}\n{log.read()[-2000:]!r}"
            )
    return time.monotonic() - began, most / 1024


def _high_water_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def measure(repeats: int, out: Path) -> dict[str, float]:
    here = out / f"repeats-{repeats}"
    arguments = ("eval.py", "model=gold", f"repeats={repeats}", f"out={here}")
    run_s, run_mib = command(*arguments)
    (folder,) = (p for p in here.iterdir() if (p / "manifest.json").is_file())
    parts = sum(1 for _ in (folder / "completions").iterdir())
    resume_s, resume_mib = command(*arguments)
    score_s, score_mib = command("score.py", f"run={folder}")
    planned = json.loads((folder / "summary.json").read_text("utf-8"))["total"]["planned"]
    return {
        "requests": planned,
        "run_s": run_s,
        "run_driver_mib": run_mib,
        "requests_per_s": planned / run_s,
        "completion_parts": parts,
        "resume_s": resume_s,
        "resume_driver_mib": resume_mib,
        "score_s": score_s,
        "score_driver_mib": score_mib,
    }


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", default="1,10,100")
    parser.add_argument("--out", type=Path, help="where the runs and scale.json stay; without it they are removed")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        out = options.out or Path(temporary)
        out.mkdir(parents=True, exist_ok=True)
        found = []
        for repeats in map(int, options.repeats.split(",")):
            found.append(measure(repeats, out))
            print(json.dumps({k: round(v, 2) for k, v in found[-1].items()}), flush=True)
        (out / "scale.json").write_text(json.dumps({"cores": os.cpu_count(), "sizes": found}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
