#!/usr/bin/env python3
"""Make the virtual environment of the CPU set-up from the lock: launch/setup_env.py [VENV]. Standard library only.

Does nothing where the environment already holds this lock. `torch==2.13.0+cpu` is not on the ordinary package index:
pip's own configuration is tried first, then PyTorch's public index of CPU wheels.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements-cpu.lock"
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
SUPPORTED = ((3, 11), (3, 12))


def main(venv: Path) -> int:
    if sys.version_info[:2] not in SUPPORTED:
        print(
            f"Python 3.11 or 3.12 is due, this is {sys.version.split()[0]}; run make env PYTHON=python3.11",
            file=sys.stderr,
        )
        return 2
    lines = [line for line in LOCK.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    wanted = hashlib.sha256("\n".join([*lines, (ROOT / "pyproject.toml").read_text("utf-8")]).encode()).hexdigest()
    stamp = venv / ".lock-sha256"
    if stamp.is_file() and stamp.read_text() == wanted:
        return 0
    phase("virtual environment", [sys.executable, "-m", "venv", str(venv)])
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--no-deps", "-qq", "--disable-pip-version-check"]
    torch = next(line for line in lines if line.startswith("torch=="))
    if not phase("torch, by pip's own configuration", [*pip, torch], may_fail=True) and not phase(
        "torch, from PyTorch's index of CPU wheels", [*pip, "--index-url", TORCH_INDEX, torch], may_fail=True
    ):
        print(
            f"{torch} is to be had neither from pip's own indexes nor from {TORCH_INDEX}. Let this machine reach one of them, or "
            "put that wheel into a folder and name it: PIP_FIND_LINKS=folder make env",
            file=sys.stderr,
        )
        return 2
    requirements = venv / "requirements.txt"
    requirements.write_text("\n".join(line for line in lines if line != torch) + "\n", "utf-8")
    phase("the packages of the lock", [*pip, "-r", str(requirements)])
    phase("this project", [*pip, "--no-build-isolation", "--editable", str(ROOT)])
    stamp.write_text(wanted)
    return 0


def phase(name: str, command: list[str], *, may_fail: bool = False) -> bool:
    """Run one step and say how long it took; a failed step ends the set-up unless another way is tried next."""
    start = time.monotonic()
    done = subprocess.run(command, check=False, capture_output=may_fail, text=True)  # noqa: S603 - our own commands
    print(
        f"{name}: {'done' if done.returncode == 0 else 'not to be had'} in {time.monotonic() - start:.0f} s", flush=True
    )
    if done.returncode and not may_fail:
        raise SystemExit(f"set-up failed at: {name} ({' '.join(command[:6])} ...)")
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / ".venv")))
