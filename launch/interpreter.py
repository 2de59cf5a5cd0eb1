"""Run a launch script under the interpreter that has its packages. Standard library only.

`launch/eval.py` may be started by any `python3`: by a shell where nothing is activated, or as the entry point of a Ray
job. Where the packages are missing, the environment of `make env` takes over, or the one that runs Ray.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("ray", "omegaconf", "pyarrow", "lxml")
_MARK = "SERIAL7_INTERPRETER"


def ensure() -> None:
    """Return under an interpreter that has the packages, or end with exit code 2 and the way out."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing and _MARK not in os.environ:
        for python in _others():
            if os.access(python, os.X_OK):
                os.environ[_MARK] = python
                os.execv(python, [python, *sys.argv])  # noqa: S606 - the project's own interpreter
    os.environ.pop(_MARK, None)
    if missing:
        print(
            f"{', '.join(missing)}: not installed for {sys.executable}; run `make env`, then this script again, or start "
            "it with the interpreter of your own environment (pip install 'serial7[cpu]' or 'serial7[gpu]')",
            file=sys.stderr,
        )
        sys.exit(2)
    sys.path.insert(0, str(ROOT))  # this checkout, or the job's copy of it, installed or not


def _others() -> Iterator[str]:
    yield str(ROOT / os.environ.get("VENV", ".venv") / "bin" / "python")
    if "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ:  # the entry point of a job: a raylet is among the ancestors
        pid = os.getppid()
        while pid > 1:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            for part in command:
                if part.startswith("--python_worker_command="):
                    yield part.partition("=")[2].split(" ")[0]
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
