"""The Ray session of a run: a cluster that the environment names, or a local one; and how signals end it."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cluster.errors import Incomplete, JobError, UsageError

MIN_LOCAL_CORES = 4


@contextlib.contextmanager
def ray_session() -> Iterator[None]:
    """Join the cluster of `$RAY_ADDRESS` (set by `ray job submit` too), or start a local one that ends with it; inside a
    session it is that one.

    Token authentication is on in a local cluster; the operator's environment gives the token of another. Within the
    session SIGTERM and Ctrl-C raise `Incomplete` once; a second one ends the process at once.

    Raises:
        UsageError: the cluster cannot be joined, or no local one can be started.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    address = os.environ.get("RAY_ADDRESS")
    with contextlib.ExitStack() as stack:
        if not address:
            _local_token(stack)
        import ray  # reads its authentication settings at import

        if ray.is_initialized():
            yield
            return
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if not address:
            # Ray counts cores: two stages of a core each would starve a third on a machine of two.
            cores = max(MIN_LOCAL_CORES, os.cpu_count() or 1)
            options |= {"address": "local", "include_dashboard": False, "num_cpus": cores}
            options["_node_ip_address"] = "127.0.0.1"
        try:
            ray.init(**options)
        except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            what = f"cannot join the Ray cluster at {address}" if address else "cannot start a local Ray"
            out = "check RAY_ADDRESS, RAY_AUTH_MODE and RAY_AUTH_TOKEN_PATH, or unset RAY_ADDRESS" if address else ""
            raise UsageError(f"{what}: {str(error).strip().splitlines()[0]}; {out}".rstrip("; ")) from error
        stack.callback(ray.shutdown)
        ray.data.DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        stack.enter_context(_ended_by_signals())  # after ray.init, which sets a SIGTERM handler of its own
        stack.enter_context(signals_unmasked())
        yield


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def end(number: int, _frame: Any) -> None:
        for each, handler in before.items():
            signal.signal(each, handler)
        raise Incomplete(f"ended by {signal.Signals(number).name}")

    for number in before:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def signals_unmasked() -> Iterator[None]:
    """A signal's `Incomplete` as it was raised: where it came while Ray's compiled code ran, that makes a SystemError of
    it."""
    try:
        yield
    except SystemError as error:
        if isinstance(error.__cause__, Incomplete):
            raise error.__cause__ from None
        raise


def _local_token(stack: contextlib.ExitStack) -> None:
    """A token for the local cluster, in a file of mode 600, unless the operator has one."""
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    if os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH"):
        return
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="serial7-ray-"))
    path = Path(folder) / "token"
    path.touch(mode=0o600)
    path.write_text(secrets.token_hex(32))
    os.environ["RAY_AUTH_TOKEN_PATH"] = str(path)
    stack.callback(os.environ.pop, "RAY_AUTH_TOKEN_PATH", None)


def cause(error: BaseException) -> JobError:
    """The error on purpose inside an error of Ray, or `Incomplete` with its last line."""
    import ray

    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, JobError) and not isinstance(seen, ray.exceptions.RayError):
            return seen
        inner = getattr(seen, "cause", None) or seen.__cause__
        seen = inner if isinstance(inner, BaseException) else None
    text = str(error).strip()
    return Incomplete(text.splitlines()[-1] if text else type(error).__name__)
