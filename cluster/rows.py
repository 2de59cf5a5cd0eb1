"""The Arrow schemas of what crosses Ray and of what lies in a run folder. Readers refuse what they do not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from cluster.errors import JobError

SCHEMA_VERSION = "2"
READABLE = ("1", "2")
_ADDED = {"1": ("first_token_s",)}  # version -> the columns that came later: null in what it wrote
_VERSION_KEY = b"serial7.schema"


def _schema(**fields: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(k, t) for k, t in fields.items()], metadata={_VERSION_KEY: SCHEMA_VERSION.encode()})


PLAN = _schema(
    key=pa.string(),
    request_id=pa.string(),
    condition=pa.string(),
    level=pa.int8(),
    format=pa.string(),
    source_format=pa.string(),
    language=pa.string(),
    artifact_id=pa.string(),
    rules=pa.list_(pa.string()),
    repeat=pa.int32(),
    prompt_chars=pa.int32(),
)

# One row a completion that has arrived. Times in seconds, `asked_at` since the epoch; -1 tokens = not reported.
# `first_token_s` counts from the sending of the attempt that was answered; null = not streamed.
COMPLETION = _schema(
    key=pa.string(),
    request_id=pa.string(),
    status=pa.string(),
    text=pa.string(),
    reasoning=pa.string(),
    finish_reason=pa.string(),
    native_finish_reason=pa.string(),
    prompt_tokens=pa.int64(),
    completion_tokens=pa.int64(),
    reasoning_tokens=pa.int64(),
    cached_tokens=pa.int64(),
    cost_usd=pa.float64(),
    observed_provider=pa.string(),
    observed_model=pa.string(),
    system_fingerprint=pa.string(),
    response_id=pa.string(),
    attempts=pa.int32(),
    attempt_log=pa.string(),
    asked_at=pa.float64(),
    latency_s=pa.float64(),
    first_token_s=pa.float64(),
    error=pa.string(),
)

INSTANCE = _schema(
    key=pa.string(),
    request_id=pa.string(),
    fc=pa.bool_(),
    hsr=pa.bool_(),
    hsr_inputs=pa.bool_(),
    full=pa.bool_(),
    error=pa.string(),
    verifier=pa.string(),
)

# Long form: one row a finding, so that a new rule is rows and not a column.
FINDING = _schema(
    key=pa.string(),
    check=pa.string(),
    outcome=pa.string(),
    why=pa.string(),
    at=pa.string(),
    blocked_by=pa.string(),
)

# What lies in parts in a run folder.
PARTS = {"completions": COMPLETION, "verdicts/instances": INSTANCE, "verdicts/findings": FINDING}


class SchemaMismatch(JobError):
    """A stored file was written under another schema."""


def table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows as a table of exactly this schema.

    Raises:
        SchemaMismatch: a row has a column that the schema does not know.
    """
    unknown = {key for row in rows for key in row} - set(schema.names)
    if unknown:
        raise SchemaMismatch(f"columns {sorted(unknown)} are not in the schema {schema.names}")
    return pa.Table.from_pylist([{k: _clean(v) for k, v in row.items()} for row in rows], schema=schema)


def _clean(value: Any) -> Any:
    if isinstance(value, str) and not value.isascii():
        # JSON escapes can carry half of a surrogate pair, which UTF-8 cannot hold: it is stored as U+FFFD.
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return value


def checked(found: pa.Table, schema: pa.Schema, where: str, columns: Sequence[str] | None = None) -> pa.Table:
    """`found`, if it has this schema in a readable version, or those `columns` of it; columns that its version did not
    have yet are null.

    Raises:
        SchemaMismatch: names the file and the difference.
    """
    version = (found.schema.metadata or {}).get(_VERSION_KEY, b"none").decode(errors="replace")
    if columns is not None:
        schema = pa.schema([schema.field(name) for name in columns], metadata=schema.metadata)
    added = [name for name in _ADDED.get(version, ()) if name in schema.names]
    if version not in READABLE or found.schema.names != [name for name in schema.names if name not in added]:
        raise SchemaMismatch(
            f"{where} has schema version {version} and columns {found.schema.names}; this program reads versions "
            f"{' and '.join(READABLE)}: use the release that wrote it, or another out"
        )
    for name in added:
        found = found.append_column(name, pa.nulls(len(found), schema.field(name).type))
    try:
        return found.select(schema.names).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaMismatch(f"{where} has columns of other types: {error}") from error
