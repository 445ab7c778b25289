"""What `make demo` runs: several kernels on this machine, each checked against NumPy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import tilewright as tw
from flash_attention import attention
from flash_attention import expected as expected_attention
from gemm import gemm
from rms_norm import rms_norm
from saxpy import saxpy
from softmax import row_softmax
from tile_to_simt import threshold_scale
from vector_add import add

Array = npt.NDArray[np.float32]
Tensor = tw.Tensor[tw.f32]

RNG = np.random.default_rng()
REPEATS = 3


@dataclass(frozen=True)
class Case:
    """One row of the table; `run` writes into the tensor it is given and waits."""

    kernel: str
    shape: str
    start: Array
    run: Callable[[Tensor], object]
    expected: npt.NDArray[Any]
    tolerance: float = 1e-5


def random(*shape: int) -> Array:
    """Fresh numbers for every run of the demo."""
    return RNG.standard_normal(shape, dtype=np.float32)


def poison(*shape: int) -> Array:
    """An output that is wrong until it is written."""
    return np.full(shape, np.nan, np.float32)


def elementwise() -> Iterator[Case]:
    """Kernels that are bound by memory."""
    x, y = random(2, 1_000_003)
    yield Case(
        "vector_add", "1000003", poison(x.size),
        lambda z: add(z.partition_mut((4096,)), x, y).sync(), x + y, 0.0,
    )  # fmt: skip
    yield Case(
        "saxpy", "1000003", y,
        lambda z: saxpy(z.partition_mut((4096,)), x, 2.5).sync(), np.float32(2.5) * x + y,
    )  # fmt: skip


def gap(values: npt.NDArray[np.float64]) -> float:
    """A threshold with none of them beside it: one so near may be rounded to either side."""
    largest = np.sort(values, axis=None)[-1000:]
    at = int(np.argmax(np.diff(largest[:900])))
    return float(largest[at] + largest[at + 1]) / 2


def threads() -> Iterator[Case]:
    """Tiles and single threads in one chain."""
    x = random(512, 1000)
    p = np.exp(x - x.max(axis=1, keepdims=True), dtype=np.float64)
    p /= p.sum(axis=1, keepdims=True)
    least, scale = gap(p), 4.0

    def run(z: Tensor) -> None:
        row_softmax(tw.empty(x.shape).partition((4, 1024)), x).then(
            lambda probs, x: threshold_scale(z.borrow_mut(), probs.unpartition(), least, scale)
        ).sync()

    yield Case(
        "softmax -> SIMT", "512 x 1000", poison(*x.shape), run,
        np.where(p >= least, scale * p, 0.0), 1e-5,
    )  # fmt: skip


def rows() -> Iterator[Case]:
    """Kernels that reduce along rows wider than no tile."""
    x, weight = random(512, 1000), random(1000)
    p = np.exp(x - x.max(axis=1, keepdims=True), dtype=np.float64)
    yield Case(
        "softmax", "512 x 1000", poison(*x.shape),
        lambda z: row_softmax(z.partition_mut((4, 1024)), x).sync(),
        p / p.sum(axis=1, keepdims=True),
    )  # fmt: skip
    root = np.sqrt(np.mean(x * x, axis=1, keepdims=True, dtype=np.float64) + 1e-6)
    yield Case(
        "rms_norm", "512 x 1000", poison(*x.shape),
        lambda z: rms_norm(z.partition_mut((4, 1024)), x, weight, 1e-6).sync(), x / root * weight,
    )  # fmt: skip


def products() -> Iterator[Case]:
    """Kernels made of matrix products."""
    x, y = random(500, 300), random(300, 400)
    yield Case(
        "gemm", "500 x 300 x 400", poison(500, 400),
        lambda z: gemm(z.partition_mut((64, 64)), x, y).sync(),
        x.astype(np.float64) @ y, 2e-4,
    )  # fmt: skip
    yield attention_case(causal=False)
    yield attention_case(causal=True)


def attention_case(*, causal: bool) -> Case:
    """Attention of 4 heads over 200 tokens."""
    q, k, v = random(3, 4, 200, 64)

    def run(z: Tensor) -> None:
        attention(z.partition_mut((1, 32, 64)), q, k, v, 0.125, CAUSAL=causal).sync()

    name = "attention, causal" if causal else "attention"
    return Case(
        name, "4 x 200 x 64", poison(*q.shape), run, expected_attention(q, k, v, causal=causal)
    )


def measure(case: Case) -> tuple[float, float]:
    """The largest error of the first run, and the best time of a few more, in milliseconds."""
    tensor = tw.from_numpy(case.start).sync()
    case.run(tensor)
    error = float(np.max(np.abs(tensor.to_numpy() - case.expected)))
    times: list[float] = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        case.run(tensor)
        times.append(time.perf_counter() - begin)
    return error, min(times) * 1e3


def main() -> int:
    """Print the table; 0 if every kernel was right."""
    print(f"{'kernel':<20}{'shape':<18}{'max error':>10}{'ms':>9}")
    wrong: list[str] = []
    for case in (*elementwise(), *rows(), *threads(), *products()):
        error, milliseconds = measure(case)
        right = error <= case.tolerance  # false for NaN too
        wrong += [] if right else [case.kernel]
        mark = "" if right else "  WRONG"
        print(f"{case.kernel:<20}{case.shape:<18}{error:>10.1e}{milliseconds:>9.2f}{mark}")
    print("FAIL: " + ", ".join(wrong) if wrong else "PASS: every kernel agrees with NumPy")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
