"""`launch/judge.py`: a language model's second opinion on the Derive answers of a run.

    launch/judge.py run=runs/<folder> model=gpt-5.4-nano

It changes no verdict. In the run folder it leaves `opinions/<judge>/`: every reply (`answers.jsonl`, durable before it is used),
and `opinions.json` with the judge's name, its prompt's hash, its agreement with the rules, and the answers they differ on.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cluster import rows
from cluster.building import OF_MODEL, Pool, asker
from cluster.config import Config, load
from cluster.errors import UsageError
from cluster.lock import folder_lock
from cluster.plan import verifier_id
from cluster.store import RunFolder, by_key, final_completions, resolve_out
from serial7.artifacts import load_artifacts
from serial7.ir import number_text
from serial7.metrics import JUDGED
from serial7.second_opinion import PROMPT_HASH, agreement, opinion_request, read_opinion

log = logging.getLogger("cluster")

ANSWERS = ("text", "all")


def ask_opinions(arguments: Sequence[str]) -> int:
    """Ask the judge about each judged Derive answer of the run (`answers=text`: those whose gold is a text).

    Raises:
        UsageError: no run, no model, unknown keys. Incomplete: some requests got no answer; the same command asks them again.
    """
    run, answers, config = _settings(arguments)
    folder = RunFolder(resolve_out(run))
    manifest, plan = folder.read_json("manifest.json"), folder.read_plan()
    if manifest is None or plan is None:
        raise UsageError(f"run: {folder.url} is no run folder (it has no manifest.json and plan.parquet)")
    if not folder.local:
        raise UsageError(f"run: {folder.url} is no local folder; copy the run to one to have it judged")
    todo = _answers(folder, plan.to_pylist(), str(manifest["config"].get("data", "")), answers)
    if not todo:
        raise UsageError(f"run: {folder.url} holds no judged Derive answer of this kind; answers=all takes numbers too")
    out = Path(folder.path) / "opinions" / re.sub(r"[^A-Za-z0-9._-]", "_", config.model)
    out.mkdir(parents=True, exist_ok=True)
    lock = folder_lock(RunFolder(str(out)))
    try:
        with asker(config, out) as ask:
            said = Pool(config.client.connections)(lambda row: read_opinion(ask(row["messages"])), todo)
            identity = ask.identity
    finally:
        lock.release()
    found = agreement((row["hsr"], opinion.equivalent) for row, opinion in zip(todo, said, strict=True))
    differ = [
        {**{k: row[k] for k in ("request_id", "gold", "hsr", "text")}, **asdict(opinion)}
        for row, opinion in zip(todo, said, strict=True)
        if opinion.equivalent is None or opinion.equivalent != row["hsr"]
    ]
    report: dict[str, Any] = {
        "judge": config.model,
        "identity": identity,
        "prompt_hash": PROMPT_HASH,
        "verifier": verifier_id(),
        "answers": answers,
        "counts": asdict(found),
        "agreement": found.observed,
        "kappa": found.kappa,
        "differ": differ,
    }
    RunFolder(str(out)).write_json("opinions.json", report)
    _show(report, found.n, out)
    return 0


def _settings(arguments: Sequence[str]) -> tuple[str, str, Config]:
    own = {"run": "", "model": "", "answers": "text"}
    for_model: list[str] = []
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if equals and key in own:
            own[key] = text
        elif equals and key.split(".")[0] in OF_MODEL:
            for_model.append(argument)
        else:
            raise UsageError(
                f"{argument!r} is no setting of launch/judge.py; run=, model=, answers=text|all and the model's own keys are"
            )
    if not own["run"] or not own["model"]:
        raise UsageError("give the run folder and the judge: launch/judge.py run=runs/<folder> model=NAME")
    if own["answers"] not in ANSWERS:
        raise UsageError(f"answers: {own['answers']!r}; one of {', '.join(ANSWERS)} is due")
    config = load([f"model={own['model']}", *for_model])
    if config.kind == "gold":
        raise UsageError("model: gold has no opinion; give a model that can read")
    return own["run"], own["answers"], config


def _answers(folder: RunFolder, plan: list[dict[str, Any]], data: str, answers: str) -> list[dict[str, Any]]:
    """The judged Derive answers of the run, each with its messages for the judge and the rules' verdict."""
    artifacts = load_artifacts(data)
    completions = folder.read("completions", rows.COMPLETION)
    chosen = final_completions(completions)
    texts, statuses = completions.column("text"), completions.column("status").to_pylist()
    verdicts = by_key(folder.read("verdicts/instances", rows.INSTANCE), ("verifier", "hsr", "error"))
    found = []
    for row in plan:
        verdict = verdicts.get(row["key"])
        if row["condition"] != "derive" or row["key"] not in chosen or statuses[chosen[row["key"]]] not in JUDGED:
            continue
        if verdict is None or verdict[0] != verifier_id() or verdict[2]:
            continue
        artifact = artifacts[row["artifact_id"]]
        answer = artifact.ir.answer
        if answers == "text" and not isinstance(answer, str):
            continue
        gold = answer if isinstance(answer, str) else number_text(answer)
        text = texts[chosen[row["key"]]].as_py()
        question, materials = artifact.question[row["language"]], artifact.materials[row["language"]]
        messages = opinion_request(question, materials, gold, text)
        found.append(
            {
                "request_id": row["request_id"],
                "gold": gold,
                "hsr": verdict[1],
                "text": text[-400:],
                "messages": messages,
            }
        )
    return found


def _show(report: dict[str, Any], n: int, out: Path) -> None:
    counts = report["counts"]
    log.info("%d answers judged by %s beside the rules, %d without an opinion", n, report["judge"], counts["unread"])
    if n:
        kappa = "-" if report["kappa"] is None else f"{report['kappa']:.2f}"
        log.info(
            "they agree on %d of %d (kappa %s); the judge accepts %d that the rules refuse, and refuses %d that they accept",
            counts["both"] + counts["neither"], n, kappa, counts["judge_only"], counts["rules_only"],
        )  # fmt: skip
    log.info("the rules' verdicts stand; %s", out / "opinions.json")
