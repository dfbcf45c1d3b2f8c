"""A job: explain all texts of an input, shard by shard; started again, it goes on."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textsobol.corpus.reading import Columns, Input, Item, Plan, UniqueIds, in_parts, scan
from textsobol.corpus.results import ExplainedTexts
from textsobol.corpus.shard import explain_shard, passes_of, work_of
from textsobol.corpus.shards import Shards
from textsobol.methods import find_method
from textsobol.progress import JobProgress
from textsobol.provenance import digest_of, versions, weights_of
from textsobol.text.serialise import SCHEMA

if TYPE_CHECKING:
    import pyarrow

    from textsobol.text.explainer import TextExplainer

ENGINES = ("local", "ray")
# So many texts that all fail are no accident: the job stops, and nothing is recorded of them.
_NO_ACCIDENT = 8


@dataclass(frozen=True)
class Cluster:
    """How a job is shared out by Ray.

    Attributes:
        actors: number of processes, each with its own copy of the model.
        gpus_per_actor: GPUs, or the share of one, that each gets.
        address: of a running cluster; by default Ray is started on this machine.
    """

    actors: int = 2
    gpus_per_actor: float = 0.0
    address: str | None = None


@dataclass(frozen=True)
class Job:
    """What makes the results of a shard.

    Attributes:
        explainer: the explainer.
        settings: of its calls.
        name: a short name for all that makes the results.
    """

    explainer: TextExplainer
    settings: Mapping[str, Any]
    name: str

    def table(self, plan: Plan, items: list[Item], **told: Callable[..., None]) -> pyarrow.Table:
        """The shard of a plan; see `explain_shard` for what can be told."""
        return explain_shard(
            self.explainer, items, plan, settings=self.settings, job=self.name, **told
        )


def explain_corpus(
    explainer: TextExplainer,
    source: Any,
    out: str | Path,
    *,
    columns: Columns,
    split: str | None = None,
    limit: int | None = None,
    shard_size: int | None = None,
    retry_failed: bool = False,
    engine: str = "local",
    cluster: Cluster | None = None,
    progress: bool = True,
    settings: Mapping[str, Any],
) -> ExplainedTexts:
    """Explain many texts; see `TextExplainer.dataset`."""
    if engine not in ENGINES:
        raise ValueError(f"unknown engine {engine!r}; known: {', '.join(ENGINES)}")
    if shard_size is not None and shard_size < 1:
        raise ValueError(f"shard_size={shard_size}: must be at least 1")
    asked = checked_settings(explainer, settings)
    data = Input(source, columns, split=split, limit=limit)
    if engine == "ray" and data.n_texts is None:
        raise ValueError("engine='ray' needs to know all texts; save the stream as Parquet first")
    shard_size = shard_size or fitting_shard_size(data.n_texts)
    shards = Shards(out)
    with shards.locked():
        manifest = _manifest(explainer, data, asked, shard_size)
        _check_same(shards, manifest)
        if shards.manifest() is None:
            shards.write_manifest(manifest)
        job = Job(explainer, asked, manifest["job"])
        work = partial(work_of, budget=asked.get("budget"))
        finished = _finished(shards, job.name, retry_failed=retry_failed)
        with JobProgress(enabled=progress) as told:
            if data.n_texts is None:
                _run_stream(job, data, shard_size, work, shards, finished, told)
            else:
                plans = scan(data, shard_size, work)
                todo = [plan for plan in plans if not _is_done(plan, finished)]
                told.expect(plans, todo)
                if engine == "ray":
                    from textsobol.corpus.engine_ray import run_on_ray

                    tables = run_on_ray(job, data, todo, cluster or Cluster())
                    _keep(tables, shards, told.shard_done)
                else:
                    parts = ((plan, list(data.items(plan.start, plan.stop))) for plan in todo)
                    _run_here(job, parts, work, shards, told)
        found = ExplainedTexts(out)
        result = {"texts": found.texts, "failed": found.failed, "shards": len(found.paths)}
        shards.write_manifest({**manifest, "result": result})
    return ExplainedTexts(out)


def fitting_shard_size(n_texts: int | None) -> int:
    """Texts of a file: many fill batches, but a kill should never cost more than a small part.

    Example:
        >>> [fitting_shard_size(n) for n in (10, 60, 500, 2000, None)]
        [16, 16, 62, 128, 128]
    """
    return 128 if n_texts is None else min(128, max(16, n_texts // 8))


def checked_settings(explainer: TextExplainer, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a call with all defaults.

    Raises:
        TypeError: when a call does not know a setting.
        ValueError: when the method is not known.
    """
    bound = inspect.signature(explainer.__call__).bind("", **given)
    bound.apply_defaults()
    settings = {name: value for name, value in bound.arguments.items() if name != "text"}
    return {**settings, "method": find_method(settings["method"]).for_texts()}


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as JSON has them, for the record."""
    method = settings["method"]
    named = {**settings, "method": method.name, "options": method.options()}
    plain: dict[str, Any] = json.loads(
        json.dumps(named, default=lambda each: each.item() if hasattr(each, "item") else str(each))
    )
    return plain


def _manifest(
    explainer: TextExplainer, data: Input, settings: Mapping[str, Any], shard_size: int
) -> dict[str, Any]:
    model = explainer.model
    made_by = {
        "schema": SCHEMA,
        "input": data.described(),
        "explainer": explainer.described,
        "weights": None if model is None else weights_of(model),
        "settings": _plain(settings),
        "shard_size": shard_size,
        "versions": versions(),
    }
    plain: dict[str, Any] = json.loads(json.dumps(made_by))
    return {**plain, "job": digest_of([json.dumps(plain, sort_keys=True).encode()])}


def _check_same(shards: Shards, manifest: Mapping[str, Any]) -> None:
    old = shards.manifest()
    if old is None:
        return
    ignored = ("job", "result")
    then, now = ({k: v for k, v in one.items() if k not in ignored} for one in (old, manifest))
    different = list(_differences(then, now))
    if different:
        raise ValueError(
            f"{shards.out} holds results of another job; give another directory, or the same "
            f"settings:\n" + "\n".join(different)
        )


def _differences(old: Any, new: Any, name: str = "") -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _differences(old.get(key), new.get(key), f"{name}.{key}".lstrip("."))
    elif old != new:
        yield f"  {name}: {old!r} there, {new!r} here"


def _finished(shards: Shards, job: str, *, retry_failed: bool) -> dict[int, str]:
    """Shards that need not be made again, with the digests of their input."""
    told = {number: shards.told(number) for number in shards.numbers()}
    return {
        number: one["input"]
        for number, one in told.items()
        if one is not None and one["job"] == job and not (retry_failed and one["failed"])
    }


def _is_done(plan: Plan, finished: Mapping[int, str]) -> bool:
    digest = finished.get(plan.number)
    if digest is not None and digest != plan.digest:
        raise ValueError(
            f"the texts of rows {plan.start} to {plan.stop - 1} are not those that were explained "
            f"before; give the same input, or another directory"
        )
    return digest is not None


def _run_here(
    job: Job,
    parts: Iterable[tuple[Plan, list[Item]]],
    work: Callable[[Item], float],
    shards: Shards,
    told: JobProgress,
) -> None:
    def done(item: Item) -> None:
        told.text_done(work(item), item.row)

    def forwarded(item: Item, n_rows: int) -> None:
        passes = passes_of(item, budget=job.settings.get("budget"))
        told.part_done(work(item), n_rows / passes, item.row)

    tables = (
        (plan, job.table(plan, items, done=done, forwarded=forwarded)) for plan, items in parts
    )
    _keep(tables, shards, lambda _: None)


def _run_stream(
    job: Job,
    data: Input,
    shard_size: int,
    work: Callable[[Item], float],
    shards: Shards,
    finished: Mapping[int, str],
    told: JobProgress,
) -> None:
    """Texts whose number is not known: ids are checked as they come."""
    ids = UniqueIds()

    def parts() -> Iterator[tuple[Plan, list[Item]]]:
        for plan, items in in_parts(data.items(), shard_size, work):
            ids.add(items)
            ids.check(data)
            if not _is_done(plan, finished):
                yield plan, items

    _run_here(job, parts(), work, shards, told)


def _keep(
    tables: Iterable[tuple[Plan, pyarrow.Table]], shards: Shards, written: Callable[[Plan], None]
) -> None:
    """Write the shards as they come."""
    for plan, table in tables:
        _check_some_worked(table)
        shards.write(plan.number, table)
        written(plan)


def _check_some_worked(table: pyarrow.Table) -> None:
    """Stop where nothing works: a wrong label, a model that is gone."""
    errors = [text for text in table.column("error").to_pylist() if text is not None]
    broken = [text for text in errors if not text.startswith("nothing to explain")]
    if len(broken) >= _NO_ACCIDENT and len(errors) == table.num_rows:
        raise RuntimeError(
            f"all of {len(errors)} texts failed, so the job stops and does not record them; the "
            f"first says: {broken[0]}"
        )
