from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.stand_in import StandIn, serving


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with serving() as server:
        yield server
