"""A job explains all texts of an input, shard by shard; the same call again resumes it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textsobol.corpus.directory import JobDirectory, Shard
from textsobol.corpus.results import ExplainedTexts
from textsobol.corpus.shard import Job
from textsobol.corpus.source import Item, Plan, Source, UniqueIds, plan_shards, split_into_shards
from textsobol.errors import DamagedFileWarning, warn
from textsobol.methods import find_method
from textsobol.progress import JobProgress
from textsobol.provenance import digest_of, versions, weights_of
from textsobol.text.serialise import SCHEMA

if TYPE_CHECKING:
    import pyarrow

    from textsobol.text.explainer import TextExplainer

ENGINES = ("local", "ray")
# A shard in which all of at least so many texts fail stops the job, and is not recorded.
_MANY_FAILURES = 8


def explain_corpus(
    explainer: TextExplainer,
    data: Any,
    *,
    out: str | PathLike[str],
    column: str = "text",
    pair_column: str | None = None,
    id_column: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    shard_size: int | None = None,
    retry_failed: bool = False,
    engine: str = "local",
    actors: int = 2,
    gpus_per_actor: float = 0.0,
    address: str | None = None,
    **settings: Any,
) -> ExplainedTexts:
    """Explain many texts, and write the results to a directory; needs the extra ``corpus``.

    If it is interrupted, make the same call again to resume. A text that fails is recorded with
    its error. The result of a text does not depend on the others: its seed is made of its id.

    Args:
        explainer: explains each text, and shows a bar if its ``progress`` is on.
        data: a file (Parquet, CSV, JSON lines; compressed or not), a directory of such files, a
            hub id, or a data set of the package ``datasets``.
        out: the directory, for Parquet files and a manifest of what made them.
        column: column of the texts.
        pair_column: column of the second texts, when pairs are explained.
        id_column: column of ids, all different; by default texts are numbered.
        split: of a hub data set.
        limit: explain only the first so many texts.
        shard_size: texts per file. They share batches; if the job is interrupted, the files that
            were not finished are made again. By default 128, fewer if there are less than a
            thousand texts.
        retry_failed: make the files again in which a text failed.
        engine: ``local``, or ``ray`` for several processes or machines (extra ``ray``).
        actors: number of Ray processes, each with its own copy of the model.
        gpus_per_actor: GPUs of each Ray process, or a fraction of one.
        address: of a running Ray cluster; by default Ray is started on this machine.
        settings: of every explanation; see `TextExplainer.__call__`.

    Returns:
        The explanations, which are read from the directory when they are needed.

    Example:
        >>> from textsobol import TextExplainer, explain_corpus
        >>> found = explain_corpus(
        ...     TextExplainer(), "reviews.parquet", out="explained"
        ... )  # doctest: +SKIP
        >>> found.texts, found.failed  # doctest: +SKIP
        (2000, 0)
    """
    if engine not in ENGINES:
        raise ValueError(f"unknown engine {engine!r}; known: {', '.join(ENGINES)}")
    for name, value in (("shard_size", shard_size), ("actors", actors)):
        if value is not None and value < 1:
            raise ValueError(f"{name}={value}: must be at least 1")
    settings = _complete_settings(explainer, settings)
    source = Source(
        data, column=column, pair_column=pair_column, id_column=id_column, split=split, limit=limit
    )
    if engine == "ray" and source.n_texts is None:
        raise ValueError("engine='ray' needs to know all texts; save the stream as Parquet first")
    # Many texts fill batches; few are lost when the job is interrupted.
    shard_size = shard_size or min(128, max(16, (source.n_texts or 1024) // 8))
    directory = JobDirectory(Path(out))
    with directory.lock(), JobProgress(enabled=explainer.progress) as progress:
        manifest = _make_manifest(explainer, source, settings, shard_size)
        before = _check_same(directory, manifest)
        if before is None:
            directory.write_manifest(manifest)
        job = Job(explainer, settings, manifest["job"])
        finished = {  # digests of the input of shards that need not be made again
            number: shard.input
            for number, shard in _check_shards(directory, job.name).items()
            if not (retry_failed and shard.failed)
        }
        if source.n_texts is None:
            tables = _explain(job, _stream(job, source, shard_size, finished), progress)
        else:
            plans = plan_shards(source, shard_size, job.estimate_work)
            todo = [plan for plan in plans if not _is_done(plan, finished)]
            n_left, work = sum(plan.n_texts for plan in todo), sum(plan.work for plan in todo)
            progress.expect(source.n_texts, n_left, work)
            if engine == "ray":
                from textsobol.corpus.ray_engine import explain_on_ray

                tables = explain_on_ray(
                    job, source, todo, progress,
                    actors=actors, gpus_per_actor=gpus_per_actor, address=address,
                )  # fmt: skip
            else:
                shards = ((plan, list(source.items(plan.start, plan.stop))) for plan in todo)
                tables = _explain(job, shards, progress)
        is_open = before is None or "result" not in before
        with closing(tables):
            for table in tables:
                _check_some_worked(table)
                if not is_open:
                    directory.write_manifest(manifest)  # not finished any more
                    is_open = True
                directory.write_shard(table)
        directory.write_manifest({**manifest, "result": directory.sum_up(job.name)})
    return ExplainedTexts(out)


def _complete_settings(explainer: TextExplainer, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a call with all defaults, checked."""
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


def _make_manifest(
    explainer: TextExplainer, source: Source, settings: Mapping[str, Any], shard_size: int
) -> dict[str, Any]:
    made_by = {
        "schema": SCHEMA,
        "input": source.describe(),
        "explainer": explainer.settings,
        "weights": None if explainer.model is None else weights_of(explainer.model),
        "settings": _plain(settings),
        "shard_size": shard_size,
        "versions": versions(),
    }
    text = json.dumps(made_by, sort_keys=True)
    return {**json.loads(text), "job": digest_of([text.encode()])}


def _check_same(directory: JobDirectory, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """The manifest that is there, if any, which must be of the same job."""
    old = directory.read_manifest()
    if old is None:
        return None
    ignored = ("job", "result")
    then, now = ({k: v for k, v in each.items() if k not in ignored} for each in (old, manifest))
    different = list(_list_differences(then, now))
    if different:
        raise ValueError(
            f"{directory.path} holds results of another job; give another directory, or the same "
            f"settings:\n" + "\n".join(different)
        )
    return old


def _check_shards(directory: JobDirectory, job: str) -> dict[int, Shard]:
    """The finished shards by number, without those that are damaged or gone."""
    shards = directory.read_record(job)
    intact = {number: shard for number, shard in shards.items() if directory.is_intact(shard)}
    lost = (directory.shard_path(number) for number in shards.keys() - intact.keys())
    damaged = sorted(path.name for path in lost if path.exists())
    if damaged:
        names = ", ".join(damaged[:3]) + (", ..." if len(damaged) > 3 else "")
        made = "is damaged and is" if len(damaged) == 1 else "are damaged and are"
        warn(
            f"{names} in {directory.path} {made} made again; if this happens often, check the disk",
            DamagedFileWarning,
        )
    directory.write_record(intact.values())
    return intact


def _list_differences(old: Any, new: Any, name: str = "") -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _list_differences(old.get(key), new.get(key), f"{name}.{key}".lstrip("."))
    elif old != new:
        yield f"  {name}: {old!r} there, {new!r} here"


def _is_done(plan: Plan, finished: Mapping[int, str]) -> bool:
    digest = finished.get(plan.number)
    if digest is not None and digest != plan.digest:
        raise ValueError(
            f"the texts of rows {plan.start} to {plan.stop - 1} are not those that were explained "
            f"before; give the same input, or another directory"
        )
    return digest is not None


def _stream(
    job: Job, source: Source, shard_size: int, finished: Mapping[int, str]
) -> Iterator[tuple[Plan, list[Item]]]:
    """The shards of a stream that are not done; ids are checked while it is read."""
    ids = UniqueIds()
    for plan, items in split_into_shards(source, shard_size, job.estimate_work):
        ids.add(items)
        ids.check(source)
        if not _is_done(plan, finished):
            yield plan, items


def _explain(
    job: Job, shards: Iterable[tuple[Plan, list[Item]]], progress: JobProgress
) -> Generator[pyarrow.Table]:
    def count_passes(item: Item, n_passes: int) -> None:
        fraction = n_passes / job.estimate_passes(item)
        progress.count_part(item.row, job.estimate_work(item), fraction)

    def count_text(item: Item) -> None:
        progress.count_text(item.row, job.estimate_work(item))

    for plan, items in shards:
        yield job.explain(plan, items, count_text, count_passes)


def _check_some_worked(table: pyarrow.Table) -> None:
    """Stop if nothing works, for example with a wrong label or without the model."""
    errors = [text for text in table.column("error").to_pylist() if text is not None]
    broken = [text for text in errors if not text.startswith("nothing to explain")]
    if len(broken) >= _MANY_FAILURES and len(errors) == table.num_rows:
        raise RuntimeError(
            f"all of {len(errors)} texts failed, so the job stops and does not record them; the "
            f"first says: {broken[0]}"
        )
