from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.cluster.driving import Head, ray_head
from tests.cluster.stand_in import StandIn, serving


@pytest.fixture(autouse=True)
def _log_handlers() -> Iterator[None]:
    """The launch scripts set up logging; a test in this process leaves it as it was."""
    before = logging.root.handlers[:]
    yield
    logging.root.handlers[:] = before


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Head]:
    """The cluster that the tests of whole runs share."""
    with ray_head(tmp_path_factory.mktemp("head")) as found:
        yield found
