"""How a session's signals reach the run."""

from __future__ import annotations

import pytest

from cluster.errors import Incomplete
from cluster.session import signals_unmasked


def test_a_signal_that_compiled_code_wrapped_is_seen_as_itself() -> None:
    ended = Incomplete("ended by SIGTERM")
    with pytest.raises(Incomplete) as raised, signals_unmasked():
        raise SystemError("returned a result with an exception set") from ended
    assert raised.value is ended


@pytest.mark.parametrize("error", [SystemError("a bug"), ValueError("another")])
def test_other_errors_stay_as_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, signals_unmasked():
        raise error
    assert raised.value is error
