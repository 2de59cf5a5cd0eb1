"""`launch/audit.py`: the three-surface audit of a folder of samples, spread over the cluster.

    launch/audit.py samples=runs/samples out=audits/today conditional=true

A sample is one task of Ray's; the driver keeps each record before it waits for the next, and the same command goes on. Every node
needs the samples and the tools; a node without Dafny says so, and its records would differ: the driver's tools are asked for.
"""

from __future__ import annotations

import difflib
import functools
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]  # PyYAML, which OmegaConf brings, ships no types

from cluster.config import CONFIGS
from cluster.errors import Incomplete, UsageError
from cluster.session import ray_session
from cluster.store import resolve_out
from verified_code.auditing import audit_folder, record_of
from verified_code.errors import OperatorError
from verified_code.samples import Sample
from verified_code.surfaces import Surfaces, find_surfaces

log = logging.getLogger("cluster")


@dataclass(frozen=True)
class AuditConfig:
    """One audit; see `configs/audit.yaml`. Times in seconds."""

    samples: str = ""
    out: str = ""
    name: str = ""
    conditional: bool = False
    tools: bool = True
    dafny: str = ""
    z3: str = ""
    time_limit_s: int = 20
    wall_s: float = 180.0
    cpus_per_sample: float = 1.0


def load_audit(arguments: Sequence[str], configs: Path = CONFIGS) -> AuditConfig:
    """`configs/audit.yaml`, then the dotlist.

    Raises:
        UsageError: an unknown key, a value of another type or outside its range, no samples, no out.
    """
    values = _yaml((configs / "audit.yaml").read_text("utf-8"), "configs/audit.yaml")
    known = [f.name for f in fields(AuditConfig)]
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals:
            raise UsageError(f"{argument!r} is no setting; write key=value, such as conditional=true")
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
            meant = f" did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"the command line: unknown key {key!r};{meant} see configs/audit.yaml for all keys")
        values[key] = _yaml(text, f"the command line: {key}")
    for field in fields(AuditConfig):
        due = type(field.default)
        value = values[field.name]
        fits = isinstance(value, due) or (due is float and isinstance(value, int))
        if not fits or (isinstance(value, bool) and due is not bool):
            raise UsageError(f"{field.name}: {value!r} is not of the type {due.__name__}")
        if due in (int, float) and value <= 0:
            raise UsageError(f"{field.name}: {value!r} is too little; more than 0 is due")
    if not values["samples"] or not values["out"]:
        raise UsageError("samples and out: a folder of samples and one for the report are due")
    if "://" in values["out"]:
        raise UsageError(f"out: {values['out']} is no local folder; the report is written to one")
    return AuditConfig(**values)


def _yaml(text: str, where: str) -> Any:
    try:
        return yaml.safe_load(text) if text else ""
    except yaml.YAMLError as error:
        raise UsageError(f"{where} is not YAML: {str(error).splitlines()[0]}") from error


def audit(arguments: Sequence[str]) -> int:
    """`launch/audit.py`, to its exit code: 1 if our own code broke on a sample.

    Raises:
        JobError: usage; or no samples there, or a folder that cannot be written.
    """
    config = load_audit(arguments)
    out = Path(resolve_out(config.out))
    try:
        surfaces = _surfaces(config, out)
        for note in surfaces.notes:
            log.warning("%s", note)
        with ray_session():
            summary, records = audit_folder(
                Path(resolve_out(config.samples)),
                out,
                _OverTheCluster(config, str(out), dict(surfaces.identity)),
                identity=surfaces.identity,
                conditional=config.conditional,
                name=config.name,
                say=log.info,
            )
    except OperatorError as error:
        raise UsageError(str(error)) from error
    survivors = summary.stages[-1].passed if summary.stages else 0
    for stage in summary.stages:
        log.info("%s: %s passed of %s asked", stage.name, stage.passed, stage.asked)
    log.info("%d of %d attempts pass every surface; %s", survivors, summary.attempts, out / "report.html")
    broken = sum("traceback" in r for r in records)
    if broken:
        log.error("our own code broke on %d samples; their records carry the traceback", broken)
    return 1 if broken else 0


def _surfaces(config: AuditConfig, out: Path) -> Surfaces:
    return find_surfaces(
        dafny=config.dafny,
        z3=config.z3,
        time_limit_s=config.time_limit_s,
        wall_s=config.wall_s,
        cache=out / "verifier",
        tools=config.tools,
    )


class _OverTheCluster:
    """The records of samples by tasks of Ray's, in the order in which they are done."""

    def __init__(self, config: AuditConfig, out: str, identity: dict[str, Any]) -> None:
        self._config, self._out, self._identity = config, out, identity

    def __call__(self, samples: Sequence[Sample]) -> Iterator[tuple[Sample, dict[str, Any]]]:
        import ray

        asked = ray.remote(num_cpus=self._config.cpus_per_sample, max_retries=2)(_record)
        by_ref = {asked.remote(sample, self._config, self._out, self._identity): sample for sample in samples}
        waiting = list(by_ref)
        try:
            while waiting:
                [done], waiting = ray.wait(waiting, num_returns=1)
                try:
                    yield by_ref[done], ray.get(done)
                except ray.exceptions.RayError as error:
                    told = str(error).strip().splitlines()[-1]
                    raise Incomplete(f"{by_ref[done].id}: {told}; the same command goes on") from error
        finally:
            for ref in waiting:
                ray.cancel(ref, force=True)


def _record(sample: Sample, config: AuditConfig, out: str, identity: dict[str, Any]) -> dict[str, Any]:
    surfaces = _here(config, out)
    if dict(surfaces.identity) != identity:
        raise RuntimeError(
            f"a node's tools are {dict(surfaces.identity)}, the driver's {identity}; records would differ"
        )
    return record_of(sample, surfaces, config.conditional)


@functools.cache
def _here(config: AuditConfig, out: str) -> Surfaces:
    return _surfaces(config, Path(out))
