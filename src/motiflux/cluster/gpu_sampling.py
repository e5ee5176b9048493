"""The functions that draw samples on workers with a GPU: groups and trees are the same on every device."""

from __future__ import annotations

from dataclasses import replace

from motiflux.cluster.gpu_tasks import assigned_gpu
from motiflux.cluster.tasks import Done, Job, Watch, candidates_of, content_of
from motiflux.gpu.group import working_on
from motiflux.gpu.kernels.sampler import DeviceSampler
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.request.policy import SamplingPolicy
from motiflux.sampling.random_trees import Trees


def draw_on_gpu(
    job: Job,
    kind: str,
    estimator: str | SamplingPolicy,
    seed: int,
    first: int,
    count: int,
    threads: int,
    left: float | None,
) -> Done:
    """Draw groups of samples; see `motiflux.cluster.tasks.draw_share`."""
    watch = Watch()
    candidates, name = candidates_of(job, threads), assigned_gpu(kind)
    graph, plan, request, made = content_of(job)
    with working_on(open_accelerator(name)):
        sampler = made.get(f"sampler {name}")
        if sampler is None:
            here = replace(request, device=name, threads=threads)
            sampler = made[f"sampler {name}"] = DeviceSampler(graph, plan, here, candidates)
        return watch.done(sampler.draw(estimator, seed, first, count, left))


def draw_trees_on_gpu(
    job: Job, kind: str, seed: int, first: int, count: int, threads: int, left: float | None
) -> Done:
    """Draw trees; return the embeddings among them, and the number of trees.

    The GPU finds the groups of trees with embeddings, which the CPU draws again.
    """
    watch = Watch()
    candidates, name = candidates_of(job, threads), assigned_gpu(kind)
    candidates.grow_tree()
    graph, plan, request, made = content_of(job)
    with working_on(open_accelerator(name)):
        kept = f"trees {name}"
        known, trees = made.get(kept, (None, None))
        if known != seed:  # those of the last seed are kept
            here = replace(request, device=name, threads=threads)
            trees = Trees(graph, plan, here, candidates, seed)
            trees.choose(count, left)
            made[kept] = seed, trees
        return watch.done(trees.draw(first, count, count, left))
