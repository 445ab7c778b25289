"""The programs that are measured, each written three times: with collectives as ops, with calls of
torch on the memory of our tensors, and in torch alone.

Each has `ways`, by name; each runs one step of the program, with what processes do together or, if
`together` is false, without it: the same work, as one process alone would do it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import tilewright as tw
import tilewright.lang as tl
from tilewright import Tensor, f32
from tilewright.distributed import all_reduce

TILE = (64, 64)
HEAD = 64

Ours: TypeAlias = Tensor[Any]


@tw.entry
def gemm(
    z: tl.TensorMut[f32],
    x: tl.Tensor[f32, tl.Dyn, tl.Dyn],
    y: tl.Tensor[f32, tl.Dyn, tl.Dyn],
    *,
    BK: tl.Const[int] = 64,
) -> None:
    """z = x @ y."""
    assert x.shape[1] == y.shape[0]
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    xs, ys = x.partition((BM, BK)), y.partition((BK, BN))
    acc = tl.zeros((BM, BN), f32)
    for k in range(tl.num_tiles(xs, 1)):
        acc = tl.mma(xs.load([i, k]), ys.load([k, j]), acc)
    z.store(acc)


@tw.entry
def relu(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    """Negative numbers become 0."""
    out.store(tl.maximum(tl.load_tile_like(x, out), 0.0))


@tw.entry
def masked(out: tl.TensorMut[f32], x: tl.Tensor[f32], gradient: tl.Tensor[f32]) -> None:
    """The gradient passes where x is positive."""
    passes = tl.load_tile_like(x, out) > 0.0
    out.store(tl.where(passes, tl.load_tile_like(gradient, out), 0.0))


@tw.entry
def combined(out: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32], a: f32, b: f32) -> None:
    """a * x + b * y."""
    out.store(a * tl.load_tile_like(x, out) + b * tl.load_tile_like(y, out))


@tw.entry
def softmax(out: tl.TensorMut[f32], x: tl.Tensor[f32], scale: f32) -> None:
    """Softmax of each row of scale * x; a block has whole rows."""
    tile = tl.load_tile_like(x, out, padding=tl.neg_inf) * scale
    shifted = tl.exp(tile - tl.reduce_max(tile, 1)[:, None])
    out.store(shifted / tl.reduce_sum(shifted, 1)[:, None])


@tw.entry
def rms_norm(out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    """Each row divided by its root mean square; a block has whole rows."""
    tile = tl.load_tile_like(x, out)
    mean_square = tl.reduce_sum(tile * tile, 1) / float(x.shape[1])
    out.store(tile * tl.rsqrt(mean_square + 1e-6)[:, None])


def started(kernel: Any, shape: tuple[int, ...], *given: Any, tile: Any = TILE) -> Tensor[f32]:
    """Start a kernel that makes a tensor."""
    found: Tensor[f32] = kernel(tw.empty(shape).partition(tile), *given).out().start()
    return found


def product(x: Ours, y: Ours) -> Tensor[f32]:
    """Start x @ y."""
    return started(gemm, (x.shape[0], y.shape[1]), x, y)


def by_rows(kernel: Any, x: Ours, *numbers: float) -> Tensor[f32]:
    """Start a kernel whose blocks have whole rows."""
    return started(kernel, x.shape, x, *numbers, tile=(16, tw.FULL))


class Program:
    """What the programs have in common: data of both kinds, and how sums are made."""

    def __init__(self, arrays: dict[str, npt.NDArray[np.float32]]) -> None:
        self.torch: Any = import_module("torch")
        self.together = True
        """Whether the processes add up what each of them has."""
        self.ours = {name: tw.from_numpy(array).sync() for name, array in arrays.items()}
        self.theirs = {name: self.torch.from_numpy(array.copy()) for name, array in arrays.items()}

    @property
    def ways(self) -> dict[str, Callable[[], tuple[Any, ...]]]:
        """The three ways to run a step, by name; each returns its results."""
        return {
            "ops": lambda: self.with_kernels(self.summed_by_op),
            "calls": lambda: self.with_kernels(self.summed_by_call),
            "torch": self.with_torch,
        }

    def with_kernels(self, summed: Callable[[Ours], Ours]) -> tuple[Any, ...]:
        """Run a step with kernels of ours."""
        raise NotImplementedError

    def with_torch(self) -> tuple[Any, ...]:
        """Run a step in torch."""
        raise NotImplementedError

    def summed_by_op(self, x: Ours) -> Ours:
        """Start an all-reduce."""
        found: Ours = all_reduce(x).start() if self.together else x
        return found

    def summed_by_call(self, x: Ours) -> Ours:
        """Wait for a tensor, and have torch reduce its memory."""
        if self.together:
            self.torch.distributed.all_reduce(self.torch.from_dlpack(x))
        return x


class Mlp(Program):
    """Two layers, forwards, backwards and one step of gradient descent; the gradients are summed.

    The products of the second layer's gradient overlap with the rest.
    """

    def __init__(self, width: int, rows: int, size: int, rank: int) -> None:
        rng = np.random.default_rng(rank)
        same = np.random.default_rng(99)

        def normal(rng: np.random.Generator, *shape: int) -> npt.NDArray[np.float32]:
            return rng.standard_normal(shape, dtype=np.float32) * np.float32(width**-0.5)

        super().__init__({
            "x": normal(rng, rows, width), "target": normal(rng, rows, width),
            "w1": normal(same, width, width), "w2": normal(same, width, width),
        })  # fmt: skip
        self.rate = 1e-3 / size

    def with_kernels(self, summed: Callable[[Ours], Ours]) -> tuple[Any, ...]:
        """Run a step with kernels of ours; everything is started, and waited for at the end."""
        x, target, w1, w2 = (self.ours[name] for name in ("x", "target", "w1", "w2"))
        hidden = product(x, w1)
        active = started(relu, hidden.shape, hidden)
        found = product(active, w2)
        error = started(combined, found.shape, found, target, 2 / x.shape[0], -2 / x.shape[0])
        gradient2 = summed(product(active.T, error))
        behind = started(masked, hidden.shape, hidden, product(error, w2.T))
        gradient1 = summed(product(x.T, behind))
        second = started(combined, w2.shape, w2, gradient2, 1.0, -self.rate)
        first = started(combined, w1.shape, w1, gradient1, 1.0, -self.rate)
        tw.synchronize()
        return first, second

    def with_torch(self) -> tuple[Any, ...]:
        """Run a step in torch; its all-reduces are asynchronous."""
        x, target, w1, w2 = (self.theirs[name] for name in ("x", "target", "w1", "w2"))
        hidden = x @ w1
        active = self.torch.relu(hidden)
        error = (active @ w2 - target) * (2 / x.shape[0])
        gradient2 = active.T @ error
        pending = [self._reducing(gradient2)]
        behind = (error @ w2.T) * (hidden > 0)
        gradient1 = x.T @ behind
        pending.append(self._reducing(gradient1))
        for work in pending:
            if work is not None:
                work.wait()
        return w1 - self.rate * gradient1, w2 - self.rate * gradient2

    def _reducing(self, gradient: Any) -> Any:
        if not self.together:
            return None
        return self.torch.distributed.all_reduce(gradient, async_op=True)


class Block(Program):
    """A transformer block: this rank has some heads, and some units of the network behind them."""

    def __init__(self, width: int, rows: int, size: int, rank: int) -> None:
        self.heads = width // HEAD // size
        own, units = self.heads * HEAD, 4 * width // size
        rng = np.random.default_rng(rank)
        shapes = {
            "q": (width, own), "k": (width, own), "v": (width, own), "o": (own, width),
            "up": (width, units), "down": (units, width),
        }  # fmt: skip
        scale = np.float32(width**-0.5)
        arrays = {n: rng.standard_normal(s, dtype=np.float32) * scale for n, s in shapes.items()}
        arrays["x"] = np.random.default_rng(99).standard_normal((rows, width), dtype=np.float32)
        super().__init__(arrays)

    def with_kernels(self, summed: Callable[[Ours], Ours]) -> tuple[Any, ...]:
        """Run a step with kernels of ours."""
        w = self.ours
        x = w["x"]
        normal = by_rows(rms_norm, x)
        q, k, v = (product(normal, w[name]) for name in "qkv")
        x = self._added(x, summed(product(self._attended(q, k, v), w["o"])))
        hidden = product(by_rows(rms_norm, x), w["up"])
        active = started(relu, hidden.shape, hidden)
        result = self._added(x, summed(product(active, w["down"])))
        tw.synchronize()
        return (result,)

    def _added(self, x: Ours, y: Ours) -> Ours:
        return started(combined, x.shape, x, y, 1.0, 1.0)

    def _attended(self, q: Ours, k: Ours, v: Ours) -> Ours:
        out = tw.empty(q.shape).sync()
        whole = out.borrow_mut()
        for head in range(self.heads):
            own = slice(head * HEAD, (head + 1) * HEAD)
            scores = by_rows(softmax, product(q[:, own], k[:, own].T), HEAD**-0.5)
            gemm(whole[:, own].partition(TILE), scores, v[:, own]).start()
        return out

    def with_torch(self) -> tuple[Any, ...]:
        """Run a step in torch."""
        torch, w = self.torch, self.theirs
        x = w["x"]
        normal = self._normal(x)
        q, k, v = ((normal @ w[name]).view(-1, self.heads, HEAD).transpose(0, 1) for name in "qkv")
        scores = torch.softmax(q @ k.transpose(1, 2) * HEAD**-0.5, -1)
        attended = (scores @ v).transpose(0, 1).reshape(len(x), -1)
        x = x + self._reduced(attended @ w["o"])
        active = torch.relu(self._normal(x) @ w["up"])
        return (x + self._reduced(active @ w["down"]),)

    def _normal(self, x: Any) -> Any:
        return x * self.torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-6)

    def _reduced(self, x: Any) -> Any:
        if self.together:
            self.torch.distributed.all_reduce(x)
        return x


PROGRAMS: dict[str, type[Any]] = {"mlp": Mlp, "block": Block}
