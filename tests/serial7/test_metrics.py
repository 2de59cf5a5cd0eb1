from __future__ import annotations

from serial7.metrics import Scored, cells, count


def row(status: str | None, *, hold: bool = False, error: bool = False, **place: str) -> Scored:
    return Scored("realize", 1, place.get("format", "json"), "ko", status, hold, hold, hold, hold, error)


def test_every_planned_request_is_in_exactly_one_count() -> None:
    found = count(
        [row("ok", hold=True), row("ok"), row("truncated", hold=True), row("empty"), row("refused"), row("unfinished_reasoning"),
         row("provider_error"), row("timed_out"), row("context_overflow"), row(None), row("ok", error=True)]
    )  # fmt: skip
    assert (found["planned"], found["done"], found["failed"], found["missing"]) == (11, 7, 3, 1)
    assert (found["n"], found["fc"], found["full"], found["errors"]) == (6, 2, 2, 1)
    assert (found["n_ok"], found["fc_ok"]) == (2, 1)
    assert sum(found["statuses"].values()) == 10


def test_cells_are_counts() -> None:
    found = cells([row("ok", hold=True), row(None), row("ok", format="yaml")])
    assert [(c["format"], c["planned"], c["n"], c["hsr"]) for c in found] == [("json", 2, 1, 1), ("yaml", 1, 1, 0)]
    assert list(found[0])[:4] == ["condition", "level", "format", "language"]
