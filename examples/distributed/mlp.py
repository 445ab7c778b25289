"""A small network trained data parallel: each process has a part of the batch, and an all-reduce
makes the mean of the gradients.

    torchrun --nproc-per-node 4 mlp.py
    python mlp.py --ray 4
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
from layers import TILE, product, relu, relu_gradient, sum_of

import tilewright as tw
from tilewright import Tensor, f32
from tilewright.distributed import all_reduce

BATCH, INPUTS, HIDDEN, OUTPUTS = 64, 40, 48, 24
STEPS, RATE = 5, 0.05

Array = npt.NDArray[np.float32]


def problem() -> tuple[Array, Array, Array, Array]:
    """The same numbers in each process: inputs, targets and the weights to begin with."""
    rng = np.random.default_rng(7)

    def normal(*shape: int) -> Array:
        return rng.standard_normal(shape, dtype=np.float32)

    x, w1, w2 = normal(BATCH, INPUTS), normal(INPUTS, HIDDEN) * 0.2, normal(HIDDEN, OUTPUTS) * 0.2
    return x, normal(BATCH, OUTPUTS), w1.astype(np.float32), w2.astype(np.float32)


def train(rank: int, size: int) -> tuple[Array, Array]:
    """Train on the part of the batch that this rank has; the weights are equal on all ranks."""
    x, target, first, second = problem()
    rows = slice(rank * BATCH // size, (rank + 1) * BATCH // size)
    xs, targets = tw.from_numpy(x[rows]).sync(), tw.from_numpy(target[rows]).sync()
    w1, w2 = tw.from_numpy(first).sync(), tw.from_numpy(second).sync()
    for _ in range(STEPS):
        w1, w2 = step(xs, targets, w1, w2)
    return w1.to_numpy(), w2.to_numpy()


def step(
    x: Tensor[f32], target: Tensor[f32], w1: Tensor[f32], w2: Tensor[f32]
) -> tuple[Tensor[f32], Tensor[f32]]:
    """One step of gradient descent. Everything is started, and nothing waited for."""
    hidden = product(x, w1)
    active = relu(tw.empty(hidden.shape).partition(TILE), hidden).out().start()
    error = sum_of(product(active, w2), target, 2 / x.shape[0], -2 / x.shape[0])
    gradient2 = product(active.T, error)
    all_reduce(gradient2, "mean").start()  # moves while the next kernels run
    back = product(error, w2.T)
    behind = relu_gradient(tw.empty(hidden.shape).partition(TILE), hidden, back).out().start()
    gradient1 = product(x.T, behind)
    all_reduce(gradient1, "mean").start()
    return sum_of(w1, gradient1, 1.0, -RATE), sum_of(w2, gradient2, 1.0, -RATE)


def expected() -> tuple[Any, Any]:
    """The same on the whole batch, in NumPy."""
    x, target, w1, w2 = problem()
    for _ in range(STEPS):
        hidden = x @ w1
        active = np.maximum(hidden, 0)
        error = (active @ w2 - target) * np.float32(2 / BATCH)
        gradient2, back = active.T @ error, (error @ w2.T) * (hidden > 0)
        rate = np.float32(RATE)
        w1, w2 = w1 - rate * (x.T @ back), w2 - rate * gradient2
    return w1, w2


def check(found: tuple[Array, Array]) -> None:
    """Compare trained weights with NumPy's."""
    for mine, right in zip(found, expected(), strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-3, atol=1e-4)


def with_torchrun() -> None:
    """Train as one of the processes that torchrun has started, or alone."""
    with tw.distributed.init() as group:
        check(train(group.rank, group.size))
        if group.rank == 0:
            print(f"mlp: {group.size} processes of torchrun agree with NumPy")


class Trainer:
    """An actor of Ray."""

    rank: int

    def train(self, size: int) -> tuple[Array, Array]:
        """Train as one of so many."""
        return train(self.rank, size)


def with_ray(size: int) -> None:
    """Train in so many actors of Ray, which are one group."""
    engine: Any = import_module("tilewright.distributed.ray")
    ray, actors = engine.ray, engine.actors
    ray.init(num_cpus=size, include_dashboard=False, log_to_driver=False)
    try:
        trainers = actors(Trainer, size, together=True)
        for found in ray.get([trainer.train.remote(size) for trainer in trainers]):
            check(found)
    finally:
        ray.shutdown()
    print(f"mlp: {size} actors of Ray agree with NumPy")


def main() -> None:
    """Train the way the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ray", type=int, default=0, help="how many actors of Ray to train in")
    asked = parser.parse_args()
    if asked.ray:
        with_ray(asked.ray)
    else:
        with_torchrun()


if __name__ == "__main__":
    main()
