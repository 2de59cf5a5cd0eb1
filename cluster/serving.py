"""What a config's requests go to: an API, or engines that are started for it and ended with it."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cluster.config import Config, engine_spec
from cluster.engines import start_engines

Served = tuple[
    list[dict[str, Any]], list[Any]
]  # end points (`base_url`, `api_key`, ...), and the actors that own engines

log = logging.getLogger("cluster")


@contextlib.contextmanager
def serve(config: Config, logs: Path | None) -> Iterator[Served]:
    """The end points of a config; none for gold. Engines need a Ray session.

    Args:
        logs: where engines write theirs; None = a temporary folder on this node, which stays.

    Raises:
        EngineError: an engine does not start.
    """
    if config.kind == "gold":
        yield [], []
    elif config.kind == "api":
        env = config.provider.api_key_env
        key = os.environ.get(env, "") if env else ""
        yield [{"base_url": str(config.provider.base_url).rstrip("/"), "api_key": key}], []
    else:
        import ray

        spec = engine_spec(config)
        logs = logs or Path(tempfile.mkdtemp(prefix="serial7-logs-"))
        log.info("starting %d engine(s) of %s; logs in %s", spec.replicas, spec.served_name, logs)
        with start_engines(spec, logs, config.engine.port) as actors:
            yield ray.get([actor.describe.remote() for actor in actors]), actors
