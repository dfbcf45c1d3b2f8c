"""A job on Ray Data: actors explain shards, and the process that started the job writes them.

An actor reads the texts of a shard from the source and returns its table. If an actor dies, nothing
is half-written: Ray starts another one, which explains the shard again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from textsobol.corpus.memory import limit_allocator_caches
from textsobol.corpus.shard import Job
from textsobol.corpus.source import Plan, Source
from textsobol.progress import JobProgress

if TYPE_CHECKING:
    import pyarrow


def explain_on_ray(
    job: Job,
    source: Source,
    plans: Sequence[Plan],
    progress: JobProgress,
    *,
    actors: int,
    gpus_per_actor: float,
    address: str | None,
) -> Generator[pyarrow.Table]:
    """The tables of all shards, in the order in which they are done.

    The actors must be able to read the source. `explain_corpus` documents the other arguments.
    """
    if not plans:
        return
    with _connect(actors, address) as ray:
        import pyarrow as pa

        by_number = {plan.number: plan for plan in plans}
        # Put the model into the object store once, not with every shard.
        reference = ray.put((job, source))
        tables = ray.data.from_items(
            [asdict(plan) for plan in plans], override_num_blocks=len(plans)
        ).map_batches(
            _Actor,
            fn_constructor_args=([reference], gpus_per_actor > 0),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=min(actors, len(plans))),
            num_cpus=1,
            num_gpus=gpus_per_actor,
        )
        for row in tables.iter_rows():
            plan = by_number[int(row["number"])]
            with pa.ipc.open_stream(row["table"]) as stream:
                yield stream.read_all()
            progress.count_texts(plan.n_texts, plan.work)


class _Actor:
    """A process with its own copy of the model."""

    def __init__(self, references: Sequence[Any], is_on_gpu: bool) -> None:
        import ray

        limit_allocator_caches()  # other machines do not inherit the environment
        # Ray does not resolve references in a list, so that it is fetched here, once.
        self._job, self._source = ray.get(references[0])
        if is_on_gpu and self._job.explainer.model is not None:
            self._job.explainer.model.to("cuda")

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        import pyarrow as pa

        plan = Plan(**{name: values.tolist()[0] for name, values in batch.items()})
        table = self._job.explain(plan, list(self._source.items(plan.start, plan.stop)))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        written = np.array([sink.getvalue().to_pybytes()], dtype=object)
        return {"number": np.array([plan.number]), "table": written}


@contextmanager
def _connect(actors: int, address: str | None) -> Iterator[Any]:
    """Ray: already running, at the address, or started here for the job."""
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ImportError('engine="ray" needs Ray Data: pip install "textsobol[ray]"') from error
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    has_bars, context.enable_progress_bars = context.enable_progress_bars, False
    is_running = ray.is_initialized()
    if not is_running:
        here = {"num_cpus": max(actors, os.cpu_count() or 1), "include_dashboard": False}
        place: dict[str, Any] = here if address is None else {"address": address}
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **place)
    try:
        yield ray
    finally:
        context.enable_progress_bars = has_bars
        if not is_running:
            ray.shutdown()
