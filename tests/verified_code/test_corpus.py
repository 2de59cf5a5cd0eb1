from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from verified_code.cli import app
from verified_code.corpus import parse_corpus
from verified_code.errors import OperatorError

GATE = Path(__file__).parent.parent / "corpus" / "gate"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    (tmp_path / "good.dfy").write_text("method M() ensures true { }")
    (tmp_path / "deep" / "open.dfy").write_text("method M() {\n")
    (tmp_path / "deep" / "open2.dfy").write_text("method N(x: int) {\n")
    (tmp_path / "bytes.dfy").write_bytes(b"\xff\xfe")
    (tmp_path / "prose.dfy").write_text("Here is the code you asked for:")
    (tmp_path / "other.txt").write_text("method")
    return tmp_path


def test_like_ones_count_together_and_each_has_its_place(corpus: Path) -> None:
    report = parse_corpus([corpus])
    assert (report.files, report.parsed, report.excluded) == (5, 1, 0)
    assert report.share == pytest.approx(0.2)
    found = report.by_construct()
    assert [len(v) for v in found.values()] == [2, 1, 1]
    assert next(iter(found)) == "... is never closed"
    assert {Path(r.place.split(":")[0]).name for r in found["... is never closed"]} == {"open.dfy", "open2.dfy"}
    assert found["... is never closed"][0].place.endswith(":1:12")


def test_what_is_no_dafny_is_in_no_share(corpus: Path) -> None:
    report = parse_corpus([corpus], ["prose.dfy", str(corpus / "bytes.dfy")])
    assert (report.files, report.parsed, report.excluded) == (3, 1, 2)


def test_the_labelled_components_all_parse() -> None:
    report = parse_corpus([GATE])
    assert report.refused == []
    assert report.files > 80


def test_unusual_syntax_of_all_versions_is_read() -> None:
    report = parse_corpus([GATE.parent / "dafny_syntax"])
    assert report.refused == []
    assert report.files == 26


def test_the_command(corpus: Path) -> None:
    shown = CliRunner().invoke(app, ["parse", str(corpus)])
    assert shown.exit_code == 0
    assert "1 of 5 files parsed (20.0%)" in shown.output
    (corpus / "bad.lst").write_text("prose.dfy\nbytes.dfy\n")
    told = CliRunner().invoke(app, ["parse", str(corpus), "--json", "--ill-formed", str(corpus / "bad.lst")])
    assert json.loads(told.output)["excluded"] == 2
    for wrong in ([str(corpus / "none")], [str(corpus / "deep"), "--ill-formed", str(corpus / "none")]):
        assert CliRunner().invoke(app, ["parse", *wrong]).exit_code == 2
    with pytest.raises(OperatorError, match=r"no \.dfy file"):
        parse_corpus([_empty(corpus)])


def _empty(folder: Path) -> Path:
    empty = folder / "empty"
    empty.mkdir()
    return empty
