"""The canonical artifacts that ship: one problem in two languages, and its Canonical IR.

Source: paper tables 15, 18-20. The file `data/artifacts.jsonl` is described in `data/README.md`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from serial7.check import Due
from serial7.errors import OperatorError
from serial7.ir import CanonicalIR

LANGUAGES = ("ko", "en")
FAMILIES = ("table_arithmetic", "korean_math", "science", "stem")


@dataclass(frozen=True, slots=True)
class Artifact:
    """`question` and `materials` by language (`ko`, `en`); `materials` is empty where the question needs none."""

    id: str
    family: str
    stratum: str
    ir: CanonicalIR
    question: Mapping[str, str]
    materials: Mapping[str, str]
    license: str
    provenance: str

    @property
    def due(self) -> Due:
        return Due(self.ir.graph_bearing, isinstance(self.ir.answer, str))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Artifact:
        """One line of `artifacts.jsonl`.

        Raises:
            OperatorError: names the artifact and what is wrong with it.
        """
        name = data.get("id", "an artifact without id")
        try:
            ir = CanonicalIR.from_dict(data)
            if data["kind"] != ("graph" if ir.graph_bearing else "answer_only"):
                raise OperatorError(f"kind {data['kind']!r} does not fit its inputs and steps")
            return cls(
                id=data["id"],
                family=data["family"],
                stratum=data["stratum"],
                ir=ir,
                question={lang: data[lang]["question"] for lang in LANGUAGES},
                materials={lang: data[lang]["materials"] for lang in LANGUAGES},
                license=data["license"],
                provenance=data["provenance"],
            )
        except (KeyError, TypeError) as error:
            raise OperatorError(f"{name}: the field {error} is missing or of another type") from error
        except OperatorError as error:
            raise OperatorError(f"{name}: {error}") from error


@cache
def load_artifacts(folder: str = "") -> Mapping[str, Artifact]:
    """The artifacts of a folder's `artifacts.jsonl`, by id, in file order; without a folder those that ship.

    Raises:
        OperatorError: the file cannot be read, a line is no artifact, or an id stands twice.
    """
    found: dict[str, Artifact] = {}
    for number, line in enumerate(data_text(folder, "artifacts.jsonl").splitlines(), 1):
        try:
            artifact = Artifact.from_dict(json.loads(line))
        except ValueError as error:
            raise OperatorError(f"{folder}/artifacts.jsonl, line {number}: not JSON: {error}") from error
        if artifact.id in found:
            raise OperatorError(f"{folder}/artifacts.jsonl, line {number}: the id {artifact.id} stands there twice")
        found[artifact.id] = artifact
    return found


def data_text(folder: str, name: str) -> str:
    """The text of a data file of a folder, or of the package where `folder` is empty.

    Raises:
        OperatorError: it cannot be read.
    """
    try:
        return (Path(folder) if folder else files("serial7").joinpath("data")).joinpath(name).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OperatorError(f"cannot read {name} in {folder}: {error}; a folder of a data set holds it") from error
