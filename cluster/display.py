"""What a person sees of a run: progress while it goes, the table, and a few failures at the end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from serial7.localize import print_safely, visible

LINE_EVERY_S = 30.0
POLL_S = 1.0
STATE_EVERY_S = 3.0
SERVERS_SHOWN = 12
LOG_WIDTH = 132  # a file has no width of its own

log = logging.getLogger("cluster")


class Watch:
    """Polls a run's state: a live bar on a terminal, else a line every 30 s; `on_state` gets it every 3 s."""

    def __init__(
        self, planned: int, done: int, state: Callable[[], dict[str, Any]], on_state: Callable[[dict[str, Any]], None]
    ) -> None:
        self._planned = planned
        self._before = done
        self._state = state
        self._on_state = on_state
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="progress")
        self._console = Console(stderr=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, _t: type[BaseException] | None, _e: BaseException | None, _tb: TracebackType | None) -> None:
        self._end.set()
        self._thread.join(timeout=10)

    def _watch(self) -> None:
        columns = (
            TextColumn("answered"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[line]}"),
        )
        last_line, last_state = time.monotonic(), 0.0
        with Progress(*columns, console=self._console, disable=not self._console.is_terminal) as bar:
            task = bar.add_task("", total=self._planned, completed=self._before, line="")
            while True:
                ended = self._end.wait(POLL_S)
                state = self._state()
                if state:
                    if ended or time.monotonic() - last_state >= STATE_EVERY_S:
                        last_state = time.monotonic()
                        self._on_state(state)
                    bar.update(task, completed=self._before + state["answered"], line=self.line(state))
                    if not self._console.is_terminal and (ended or time.monotonic() - last_line >= LINE_EVERY_S):
                        last_line = time.monotonic()
                        log.info(
                            "%d of %d answered, %s", self._before + state["answered"], self._planned, self.line(state)
                        )
                if ended:
                    return

    def line(self, state: dict[str, Any]) -> str:
        """Statuses, speed, requests in flight, time left, cost."""
        seconds = max(state["seconds"], 1e-9)
        left = self._planned - self._before - state["answered"]
        parts = [f"{n} {status}" for status, n in sorted(state["statuses"].items())]
        parts += [f"{state['completion_tokens'] / seconds:.0f} tokens/s", f"{state['in_flight']} in flight"]
        if state["answered"] >= max(3, (state["answered"] + left) // 20) and left > 0:  # fewer say nothing
            parts.append(f"about {left * seconds / state['answered'] / 60:.0f} min left")
        if state["cost_usd"]:
            parts.append(f"{state['cost_usd']:.2f} USD")
        return ", ".join(parts)


def results_table(summary: dict[str, Any], tokens_per_s: float | None) -> Table:
    """One row a condition (Realize: a level), format and language; counts, no rates without their denominator."""
    total = summary["total"]
    speed = f", {tokens_per_s:.0f} output tokens/s" if tokens_per_s else ""
    caption = (
        f"{total['done']} done + {total['failed']} failed + {total['missing']} missing = {total['planned']} planned{speed}. "
        "n: scored requests; FC has no meaning in Derive, whose accuracy stands under HSR."
    )
    table = Table(caption=caption, caption_justify="left")
    for name, right in (
        ("condition", False), ("format", False), ("lang", False), ("planned", True), ("n", True),
        ("FC", True), ("HSR", True), ("Full", True), ("statuses", False),
    ):  # fmt: skip
        table.add_column(name, justify="right" if right else "left")
    for cell in summary["cells"]:
        condition = f"{cell['condition']} L{cell['level']}" if cell["level"] else cell["condition"]
        derive = cell["condition"] == "derive"
        statuses = ", ".join(f"{n} {s}" for s, n in cell["statuses"].items()) + (
            f", {cell['errors']} ERROR" if cell["errors"] else ""
        )
        table.add_row(
            condition, cell["format"] or "-", cell["language"], str(cell["planned"]), str(cell["n"]),
            "-" if derive else str(cell["fc"]), str(cell["hsr"]), str(cell["full"]), statuses,
        )  # fmt: skip
    table.add_section()
    with_format = [cell for cell in summary["cells"] if cell["condition"] != "derive"]
    fc = f"{sum(c['fc'] for c in with_format)} of {sum(c['n'] for c in with_format)}" if with_format else "-"
    table.add_row(
        "all", "", "", str(total["planned"]), str(total["n"]), fc, str(total["hsr"]), str(total["full"]),
        ", ".join(f"{n} {s}" for s, n in total["statuses"].items()),
    )  # fmt: skip
    return table


def servers_table(served_by: list[dict[str, Any]]) -> Table:
    """One row a provider and model that answered, as they named themselves: a score that mixes several is of none."""
    most = sorted(served_by, key=lambda one: -one["planned"])[:SERVERS_SHOWN]
    which = f"{len(most)} of {len(served_by)} that answered" if len(most) < len(served_by) else "who answered"
    table = Table(caption=f"{which}, as they name themselves; n: scored requests", caption_justify="left")
    for name, right in (("provider", False), ("model", False), ("n", True), ("HSR", True), ("Full", True)):
        table.add_column(name, justify="right" if right else "left")
    table.add_column("statuses")
    for one in most:
        statuses = ", ".join(f"{n} {s}" for s, n in one["statuses"].items())
        cells = [visible(one["provider"])[:40] or "-", visible(one["model"])[:60] or "-"]
        table.add_row(*(Text(cell) for cell in cells), str(one["n"]), str(one["hsr"]), str(one["full"]), statuses)
    return table


def show_results(summary: dict[str, Any], where: str, tokens_per_s: float | None = None) -> None:
    """Print the table, up to three failures with check, place and reason, and where the files lie."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=LOG_WIDTH)
    console.print(results_table(summary, tokens_per_s))
    if len(summary["served_by"]) > 1:
        console.print(servers_table(summary["served_by"]))
    for sample in summary["samples"]:
        at = f" at {visible(sample['at'])}" if sample["at"] else ""
        print_safely(console, Text(f"\n{sample['request_id']} fails {sample['check']}{at}", style="bold"))
        print_safely(console, Text(f"  {visible(sample['why'])}", style="red"))
        for line in sample["text"].split("\n")[:6]:
            print_safely(console, Text(f"  | {visible(line)[:110]}", style="dim"))
    print_safely(console, Text(f"\nThe run lies in {where}"))
