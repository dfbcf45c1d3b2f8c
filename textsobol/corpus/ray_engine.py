"""A job on Ray: actors explain shards, and the process that started the job writes them.

An actor reads the texts of a shard from the same source, and returns its table. If an actor dies,
nothing is half-written: Ray starts it again, and it explains the shard again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

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
) -> Iterator[tuple[Plan, pyarrow.Table]]:
    """The tables of all shards, in the order in which they are done.

    The actors must be able to read the source. `explain_corpus` documents the other arguments.
    """
    if not plans:
        return
    with _connect(actors, address) as ray:
        # The model goes to the object store once, not along with every shard.
        reference = ray.put((job, source))
        actor = ray.remote(_Actor).options(
            num_cpus=1, num_gpus=gpus_per_actor, max_restarts=-1, max_task_retries=-1
        )
        made = [actor.remote(gpus_per_actor > 0) for _ in plans[:actors]]
        # An actor gets its first shard once it runs: a full cluster may never start all of them.
        busy = {each.__ray_ready__.remote(): each for each in made}
        waiting = list(reversed(plans))
        n_left = len(plans)
        while n_left:
            (done,), _ = ray.wait(list(busy), num_returns=1)
            each, result = busy.pop(done), ray.get(done)
            if waiting:
                # In a list, Ray leaves the reference alone: only new actors fetch the model.
                busy[each.explain.remote([reference], waiting.pop())] = each
            if result is not True:  # which says that an actor is ready
                plan, table = result
                yield plan, table
                progress.count_texts(plan.n_texts, plan.work)
                n_left -= 1


class _Actor:
    """A process with its own copy of the model."""

    def __init__(self, is_on_gpu: bool) -> None:
        limit_allocator_caches()  # other machines do not inherit the environment
        self._is_on_gpu = is_on_gpu
        self._fetched: tuple[Job, Source] | None = None

    def explain(self, references: Sequence[Any], plan: Plan) -> tuple[Plan, pyarrow.Table]:
        import ray

        job, source = self._fetched = self._fetched or ray.get(references[0])
        if self._is_on_gpu and job.explainer.model is not None:
            job.explainer.model.to("cuda")
        return plan, job.explain(plan, list(source.items(plan.start, plan.stop)))


@contextmanager
def _connect(actors: int, address: str | None) -> Iterator[Any]:
    """Ray: the running one, that of the address, or one that is started here for the job."""
    try:
        import ray
    except ImportError as error:
        raise ImportError('engine="ray" needs Ray: pip install "textsobol[ray]"') from error
    if ray.is_initialized():
        yield ray
        return
    here = {"num_cpus": max(actors, os.cpu_count() or 1), "include_dashboard": False}
    place: dict[str, Any] = here if address is None else {"address": address}
    ray.init(log_to_driver=False, logging_level=logging.ERROR, **place)
    try:
        yield ray
    finally:
        ray.shutdown()
