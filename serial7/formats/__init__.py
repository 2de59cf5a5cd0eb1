"""The table of seven, in reporting order. An eighth format is one file and one line here."""

from __future__ import annotations

from serial7.errors import OperatorError
from serial7.format import AnyFormat
from serial7.formats.html import HTML
from serial7.formats.json import JSON
from serial7.formats.latex import LATEX
from serial7.formats.markdown import MARKDOWN
from serial7.formats.toml import TOML
from serial7.formats.xml import XML
from serial7.formats.yaml import YAML

FORMATS: dict[str, AnyFormat] = {f.name: f for f in (JSON, XML, MARKDOWN, HTML, LATEX, YAML, TOML)}


def get_format(name: str) -> AnyFormat:
    """The format of that name.

    Raises:
        OperatorError: there is none.
    """
    try:
        return FORMATS[name]
    except KeyError:
        raise OperatorError(f"unknown format {name!r}; one of {', '.join(FORMATS)} is due") from None
