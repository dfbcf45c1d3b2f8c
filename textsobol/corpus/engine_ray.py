"""The same job on Ray Data: actors explain shards, and the one who asked writes them.

An actor reads the texts of a shard by itself, from the same source, and sends back its table. Who
dies in the middle has written nothing; Ray puts another actor in its place, which explains the
shard again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from textsobol.corpus.memory import limit_allocator_caches
from textsobol.corpus.reading import Input, Plan

if TYPE_CHECKING:
    import pyarrow

    from textsobol.corpus.job import Cluster, Job


def run_on_ray(
    job: Job, data: Input, plans: Sequence[Plan], cluster: Cluster
) -> Iterator[tuple[Plan, pyarrow.Table]]:
    """The tables of all shards, as they are done, each once.

    Args:
        job: what makes the results.
        data: where the actors read the texts; it must be within reach of all of them.
        plans: the shards.
        cluster: how many actors, and where.
    """
    if not plans:
        return
    if cluster.actors < 1:
        raise ValueError(f"actors={cluster.actors}: must be at least 1")
    with _connected(cluster) as ray:
        import pyarrow as pa

        by_number = {plan.number: plan for plan in plans}
        # The model goes to the object store once, not along with every shard.
        holding = ray.put((job, data))
        tables = ray.data.from_items(
            [asdict(plan) for plan in plans], override_num_blocks=len(plans)
        ).map_batches(
            _Explaining,
            fn_constructor_args=(_Held(holding), cluster.gpus_per_actor > 0),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=min(cluster.actors, len(plans))),
            num_cpus=1,
            num_gpus=cluster.gpus_per_actor,
        )
        with _no_bars(ray):
            for row in tables.iter_rows():
                with pa.ipc.open_stream(row["table"]) as stream:
                    yield by_number[int(row["number"])], stream.read_all()


@contextmanager
def _no_bars(ray: Any) -> Iterator[None]:
    """The job has a bar of its own."""
    context = ray.data.DataContext.get_current()
    was_shown = context.enable_progress_bars
    context.enable_progress_bars = False
    try:
        yield
    finally:
        context.enable_progress_bars = was_shown


class _Held:
    """A reference that Ray does not look into, for actors to fetch."""

    def __init__(self, reference: Any) -> None:
        self.reference = reference


class _Explaining:
    """An actor: it has the model, and explains the shards that it is given."""

    def __init__(self, held: _Held, on_gpu: bool) -> None:
        import ray

        limit_allocator_caches()  # also on machines that do not have the environment of who asked
        self._job, self._data = ray.get(held.reference)
        if on_gpu and self._job.explainer.model is not None:
            self._job.explainer.model.to("cuda")  # a copy of its own

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        import pyarrow as pa

        plan = Plan(**{name: values.tolist()[0] for name, values in batch.items()})
        table = self._job.table(plan, list(self._data.items(plan.start, plan.stop)))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        written = np.array([sink.getvalue().to_pybytes()], dtype=object)
        return {"number": np.array([plan.number]), "table": written}


@contextmanager
def _connected(cluster: Cluster) -> Iterator[Any]:
    """Ray, as it runs already, on the cluster asked for, or started here for the job."""
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ImportError('engine="ray" needs Ray Data: pip install "textsobol[ray]"') from error
    if ray.is_initialized():
        yield ray
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    if cluster.address is None:
        cores = max(cluster.actors, os.cpu_count() or 1)
        ray.init(num_cpus=cores, include_dashboard=False, **quiet)
    else:
        ray.init(address=cluster.address, **quiet)
    try:
        yield ray
    finally:
        ray.shutdown()
