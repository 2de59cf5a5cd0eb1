"""`launch/audit.py`: the audit over Ray, with kills and wrong usage."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from cluster import auditing, run
from cluster.auditing import load_audit
from cluster.errors import UsageError
from tests.cluster.driving import finish, start
from tests.verified_code.test_audit import tree


@pytest.mark.ray
def test_over_ray_and_on_again(tmp_path: Path) -> None:
    names = {f"s{i}": "Double(x, r)" if i % 2 else "r == 2 * x" for i in range(8)}
    tree(tmp_path / "s", names)
    arguments = [f"samples={tmp_path / 's'}", f"out={tmp_path / 'out'}", "tools=false", "name=Twice"]
    code, printed = finish(start(tmp_path, *arguments, script="audit"))
    assert code == 0, printed
    assert "B binding" in printed
    records = [json.loads(line) for line in (tmp_path / "out/records.jsonl").read_text().splitlines()]
    assert [r["gate"] for r in records] == ["not_bound", "bound"] * 4
    assert (tmp_path / "out/report.html").exists()
    before = (tmp_path / "out/records.jsonl").read_bytes()
    code, printed = finish(start(tmp_path, *arguments, script="audit"))
    assert code == 0
    assert "8 of 8 samples are recorded already" in printed
    assert (tmp_path / "out/records.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "samples and out"),
        (["samples=x"], "samples and out"),
        (["samples=x", "out=s3://b/c"], "no local folder"),
        (["sample=x", "out=y"], "did you mean 'samples'?"),
        (["samples=x", "out=y", "time_limit_s=soon"], "not of the type int"),
        (["samples=x", "out=y", "time_limit_s=0"], "too little"),
        (["samples=x", "out=y", "conditional=1"], "not of the type bool"),
        (["samples"], "is no setting"),
        (["samples=[x", "out=y"], "is not YAML"),
    ],
)
def test_wrong_usage(arguments: list[str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_audit(arguments)
    assert said in str(caught.value)


def test_a_solver_that_is_not_there_starts_no_ray(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tree(tmp_path / "s", {"good": "Double(x, r)"})
    caplog.set_level(logging.INFO)
    arguments = [f"samples={tmp_path / 's'}", f"out={tmp_path / 'out'}", "dafny=/bin/true", "z3=/no/z3"]
    assert run.main(auditing.audit, arguments) == 2
    assert not (tmp_path / "out").exists()
    assert "Traceback" not in caplog.text
