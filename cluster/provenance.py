"""What a run was made with, for its manifest: the commit, package versions, machine and accelerators."""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
import subprocess
from pathlib import Path
from typing import Any

PACKAGES = (
    *("serial7", "ray", "pyarrow", "omegaconf", "pyreqwest"),
    *("html5lib", "lxml", "markdown-it-py", "pylatexenc", "ruamel.yaml", "tomlkit"),  # they decide verdicts
)


def environment() -> dict[str, Any]:
    """`git`, `versions`, `python`, `machine`, and `nodes` of the Ray session if there is one."""
    return {
        "git": _git(),
        "versions": dict(_versions()),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "nodes": _nodes(),
    }


def _git() -> dict[str, Any]:
    """`commit` and `dirty`; both None where the packages do not lie in a checkout (a job's copy, an installation)."""
    root = Path(__file__).resolve().parent.parent

    def git(*arguments: str) -> str | None:
        try:
            found = subprocess.run(["git", "-C", str(root), *arguments], check=False, capture_output=True, text=True)  # noqa: S603, S607
        except OSError:
            return None
        return found.stdout.strip() if found.returncode == 0 else None

    status = git("status", "--porcelain")
    return {"commit": git("rev-parse", "HEAD"), "dirty": None if status is None else bool(status)}


def _versions() -> list[tuple[str, str]]:
    found = []
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found.append((name, importlib.metadata.version(name)))
    return found


def _nodes() -> list[dict[str, Any]]:
    import ray

    if not ray.is_initialized():
        return []
    return [
        {
            "cpus": node["Resources"].get("CPU", 0),
            "gpus": node["Resources"].get("GPU", 0),
            "accelerators": [k.partition(":")[2] for k in node["Resources"] if k.startswith("accelerator_type:")],
        }
        for node in ray.nodes()
        if node["Alive"]
    ]
