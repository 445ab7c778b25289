"""The command `python -m benchmarks.ops`: operations on a CPU beside PyTorch's own, in one run.

Forward, and forward with backward, on tensors of PyTorch. Writes ops.md.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tilewright import ops
from tilewright.functions.wrapping import OfArrays

from .figures import RESULTS
from .machine import describe
from .timing import Effort, interleave

COLUMNS = 9


torch: Any = import_module("torch")
"""Any: type checkers need not have it installed."""
functional: Any = torch.nn.functional


@dataclass(frozen=True, slots=True)
class Row:
    """One operation: how it is called here, in PyTorch, and with which inputs."""

    name: str
    ours: OfArrays
    theirs: OfArrays
    inputs: Callable[[], Sequence[Any]]
    gradients: bool = True


def normal(*shapes: Sequence[int], dtype: Any = torch.float32) -> Callable[[], list[Any]]:
    """Make inputs of these shapes."""
    return lambda: [torch.randn(tuple(shape)).to(dtype) for shape in shapes]


def _classes(rows: int, classes: int, *more: Sequence[int]) -> Callable[[], list[Any]]:
    def make() -> list[Any]:
        given = [torch.randn(tuple(shape)) for shape in more]
        return [*given, torch.randint(0, classes, (rows,))]

    return make


def _tables(tokens: int, depth: int) -> list[Any]:
    return [torch.randn(1, 8, tokens, depth), *torch.randn(2, tokens, depth // 2)]


def _rope(x: Any, cos: Any, sin: Any) -> Any:
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def _attend(causal: bool) -> tuple[OfArrays, OfArrays]:
    def ours(q: Any, k: Any, v: Any) -> Any:
        return ops.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def theirs(q: Any, k: Any, v: Any) -> Any:
        return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return ours, theirs


WIDE = (1024, 4096)
HEADS = (1, 8, 1024, 64)
ROWS = [
    Row("relu 4M", ops.relu, functional.relu, normal(WIDE)),
    Row("silu 4M", ops.silu, functional.silu, normal(WIDE)),
    Row("gelu 4M", ops.gelu, functional.gelu, normal(WIDE)),
    Row("gelu 16 elements", ops.gelu, functional.gelu, normal((16,))),
    Row("swiglu 4M", ops.swiglu, lambda g, u: functional.silu(g) * u, normal(WIDE, WIDE)),
    Row("softmax 1024 x 4096", ops.softmax, lambda x: functional.softmax(x, -1), normal(WIDE)),
    Row("softmax 16 x 131072", ops.softmax, lambda x: functional.softmax(x, -1),
        normal((16, 131072))),
    Row("logsumexp 1024 x 4096", ops.logsumexp, lambda x: torch.logsumexp(x, -1), normal(WIDE)),
    Row("rms_norm 1024 x 4096", lambda x, w: ops.rms_norm(x, 4096, w, 1e-6),
        lambda x, w: functional.rms_norm(x, (4096,), w, 1e-6), normal(WIDE, (4096,))),
    Row("layer_norm 1024 x 4096", lambda x, w, b: ops.layer_norm(x, 4096, w, b),
        lambda x, w, b: functional.layer_norm(x, (4096,), w, b), normal(WIDE, (4096,), (4096,))),
    Row("sum of rows 1024 x 4096", lambda x: ops.sum(x, 1), lambda x: x.sum(1), normal(WIDE)),
    Row("sum of all 4M", ops.sum, torch.sum, normal(WIDE)),
    Row("argmax 1024 x 4096", lambda x: ops.argmax(x, 1), lambda x: x.argmax(1), normal(WIDE),
        False),
    Row("cumsum 1024 x 4096", ops.cumsum, lambda x: x.cumsum(-1), normal(WIDE)),
    Row("topk 8 of 1024 x 256", lambda x: ops.topk(x, 8)[0], lambda x: torch.topk(x, 8)[0],
        normal((1024, 256))),
    Row("linear 512 x 1024 x 1024", ops.linear, functional.linear,
        normal((512, 1024), (1024, 1024), (1024,))),
    Row("linear with gelu 512 x 1024 x 1024",
        lambda x, w, b: ops.linear(x, w, b, activation="gelu"),
        lambda x, w, b: functional.gelu(functional.linear(x, w, b)),
        normal((512, 1024), (1024, 1024), (1024,))),
    Row("attention 8 x 1024 x 64", *_attend(False), normal(HEADS, HEADS, HEADS)),
    Row("causal attention 8 x 1024 x 64", *_attend(True), normal(HEADS, HEADS, HEADS)),
    Row("cross_entropy 512 x 32000", ops.cross_entropy, functional.cross_entropy,
        _classes(512, 32000, (512, 32000))),
    Row("linear_cross_entropy 256 x 512 x 8000", ops.linear_cross_entropy,
        lambda x, w, t: functional.cross_entropy(x @ w.T, t),
        _classes(256, 8000, (256, 512), (8000, 512))),
    Row("rope 8 x 1024 x 128", ops.rope, _rope, lambda: _tables(1024, 128)),
    Row("embedding 4096 of 32000 x 512", lambda w, x: ops.embedding(x, w),
        lambda w, x: functional.embedding(x, w), _classes(4096, 32000, (32000, 512))),
    Row("dropout 4M", lambda x: ops.dropout(x, 0.1, seed=1), lambda x: functional.dropout(x, 0.1),
        normal(WIDE)),
]  # fmt: skip


def both(op: Any, inputs: Sequence[Any]) -> Callable[[], Any]:
    """Return what computes a result and the gradients of its float inputs."""
    given = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    floats = [x for x in given if x.requires_grad]
    weights = torch.ones_like(op(*given))

    def run() -> Any:
        return torch.autograd.grad(op(*given), floats, weights, allow_unused=True)

    return run


def measured(row: Row, effort: Effort) -> str:
    """Return a line of the table: milliseconds here and there, and their ratio."""
    inputs = row.inputs()
    ours: Any = row.ours
    theirs: Any = row.theirs
    cells = [row.name]
    kinds = [{"ours": lambda: ours(*inputs), "torch": lambda: theirs(*inputs)}]
    if row.gradients:
        kinds.append({"ours": both(row.ours, inputs), "torch": both(row.theirs, inputs)})
    for runs in kinds:
        found = {name: entrant.times for name, entrant in interleave(runs, effort).items()}
        middle = {name: statistics.median(times) * 1e3 for name, times in found.items()}
        cells += [f"{middle['ours']:.3g}", f"{middle['torch']:.3g}"]
        cells.append(f"{middle['torch'] / middle['ours']:.2f}")
        cells.append(f"{min(found['torch']) / min(found['ours']):.2f}")
    return f"| {' | '.join([*cells, *[''] * (COLUMNS - len(cells))])} |"


def described() -> list[str]:
    """Return the table of the machine."""
    return ["| machine |  |", "|---|---|", *[f"| {k} | {v} |" for k, v in describe().items()]]


HEAD = """\
# Operations beside PyTorch

Medians in milliseconds on f32 tensors of PyTorch, contestants in turns, in one run. A ratio is
PyTorch's time by ours, so that above 1 the operation here is faster: of medians, and of minima,
which other work on the machine disturbs less. `python -m benchmarks.ops` measures your machine.

"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ops", description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.3, help="for each figure")
    parser.add_argument("--only", default="", help="a part of the names to measure")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args(arguments)
    lines = [
        "| operation | forward | torch | ratio | minima | with backward | torch | ratio | minima |",
        "|---" * COLUMNS + "|",
    ]
    for row in ROWS:
        if given.only in row.name:
            lines.append(measured(row, Effort(given.seconds, 5)))
            print(lines[-1], flush=True)
    if not given.only:
        text = HEAD + "\n".join([*described(), "", *lines]) + "\n"
        (given.out / "ops.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
