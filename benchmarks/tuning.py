"""Times a cold tuning of ours beside that of `triton.autotune`: `python -m benchmarks.tuning`.

Both choose among as many configurations of the same kernel on the same data, each in a process of
its own whose caches on disk are empty; what loads the libraries and makes the data is not counted.
Writes tuning.md to build/bench or where --out says.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from . import peers
from .__main__ import TRIALS
from .table import table

SHAPE = 8192, 16384
"""Of the matrix whose rows are summed."""
SIZE = 4096
"""Of the matrices that are multiplied."""
ROWS, STEPS = (1, 2, 4, 8), (512, 1024, 2048, 4096)
TILES, DEPTHS = ((64, 128), (128, 128), (128, 256), (256, 128)), (32, 64, 128)
REPEATED = 20


@dataclass(frozen=True, slots=True)
class Tuned:
    """What one of both needed, and found."""

    case: str
    who: str
    candidates: int
    seconds: float
    """Of the first call: compiling, measuring, choosing."""
    microseconds: float
    """Of a call with what it has chosen."""


Case = Callable[[Any], tuple[int, Callable[[], object]]]


def kernel_of(module: ModuleType, name: str) -> Any:
    """Return a kernel of the corpus, which are private to their modules."""
    return getattr(module, name)


def _sum_rows_ours(lib: Any) -> tuple[int, Callable[[], object]]:
    import tilewright as tw

    from .corpus import memory
    from .corpus.ours import reductions

    space = tw.search(tile=[(n,) for n in ROWS], BN=list(STEPS))
    kernel = tw.autotune(space)(kernel_of(reductions, "_sum_rows"))
    x = memory.ours(_normal(lib, *SHAPE), "cuda")
    out = tw.empty((SHAPE[0],), tw.f32).sync()
    return len(ROWS) * len(STEPS), lambda: kernel(out.borrow_mut(), x).sync()


def _sum_rows_triton(lib: Any) -> tuple[int, Callable[[], object]]:
    import triton

    from .corpus.triton import reductions

    configs = [
        triton.Config({"BM": rows, "BN": step}, num_warps=8 if rows * step > 4096 else 4)
        for rows in ROWS for step in STEPS
    ]  # fmt: skip
    kernel = triton.autotune(configs, key=["M", "N"])(kernel_of(reductions, "_sum_rows"))
    x, out = _normal(lib, *SHAPE), lib.empty(SHAPE[0], device="cuda")

    def grid(chosen: dict[str, int]) -> tuple[int]:
        return (triton.cdiv(SHAPE[0], chosen["BM"]),)

    return len(configs), lambda: kernel[grid](out, x, *SHAPE)


def _gemm_ours(lib: Any) -> tuple[int, Callable[[], object]]:
    import tilewright as tw

    from .corpus import memory
    from .corpus.ours import products

    space = tw.search(tile=list(TILES), BK=list(DEPTHS))
    kernel = tw.autotune(space)(kernel_of(products, "_bias_gelu"))
    x, w = (memory.ours(_normal(lib, SIZE, SIZE), "cuda") for _ in range(2))
    bias, z = memory.ours(_normal(lib, SIZE), "cuda"), tw.empty((SIZE, SIZE), tw.bf16).sync()
    return len(TILES) * len(DEPTHS), lambda: kernel(z.borrow_mut(), x, w, bias).sync()


def _gemm_triton(lib: Any) -> tuple[int, Callable[[], object]]:
    import triton

    from .corpus.triton import products

    configs = [
        triton.Config({"BM": a, "BN": b, "BK": k}, num_warps=8 if a * b > 1 << 14 else 4,
                      num_stages=3)
        for a, b in TILES for k in DEPTHS
    ]  # fmt: skip
    kernel = triton.autotune(configs, key=["M", "N", "K"])(kernel_of(products, "_gemm"))
    x, w, z = (_normal(lib, SIZE, SIZE) for _ in range(3))
    bias = _normal(lib, SIZE)
    steps = SIZE, 1, SIZE, 1

    def grid(chosen: dict[str, int]) -> tuple[int]:
        return (triton.cdiv(SIZE, chosen["BM"]) * triton.cdiv(SIZE, chosen["BN"]),)

    return len(configs), lambda: kernel[grid](
        z, x, w, bias, bias, 1.0, SIZE, SIZE, SIZE, *steps, KIND="bias_gelu"
    )


def _normal(lib: Any, *shape: int) -> Any:
    return lib.randn(*shape, device="cuda").bfloat16()


CASES: dict[str, dict[str, Case]] = {
    "sum_rows": {"ours": _sum_rows_ours, "triton": _sum_rows_triton},
    "gemm_bias_gelu": {"ours": _gemm_ours, "triton": _gemm_triton},
}


def measure(case: str, who: str) -> Tuned:
    """Tune once, and time calls of what was chosen."""
    lib = peers.torch()
    lib.zeros(1, device="cuda")
    import tilewright as tw

    with tw.device("cuda"):
        count, call = CASES[case][who](lib)
        lib.cuda.synchronize()
        begin = time.perf_counter()
        call()
        lib.cuda.synchronize()
        taken = time.perf_counter() - begin
        times: list[float] = []
        for _ in range(REPEATED):
            begin = time.perf_counter()
            call()
            lib.cuda.synchronize()
            times.append(time.perf_counter() - begin)
    return Tuned(case, who, count, taken, statistics.median(times) * 1e6)


def _in_a_process(case: str, who: str) -> Tuned:
    with tempfile.TemporaryDirectory() as cache:
        places = {"TILEWRIGHT_CACHE_DIR": f"{cache}/ours", "TRITON_CACHE_DIR": f"{cache}/triton"}
        command = [sys.executable, "-m", "benchmarks.tuning", "--one", case, who]
        done = subprocess.run(
            command, env={**os.environ, **places}, capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise RuntimeError(f"{case}, {who}: {done.stderr[-2000:]}")
    return Tuned(**json.loads(done.stdout.splitlines()[-1]))


def page(found: list[Tuned]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield from ("# Tuning beside triton.autotune", "")
    yield from (line.strip() for line in (__doc__ or "").split("\n\n")[1].splitlines())
    yield ""
    heads = "kernel", "who", "candidates", "seconds", "ratio", "chosen"
    theirs = {each.case: each.seconds for each in found if each.who == "triton"}
    rows = [
        [each.case, each.who, str(each.candidates), f"{each.seconds:.2f}",
         f"{each.seconds / theirs[each.case]:.2f}", f"{each.microseconds:.0f} us with the wait"]
        for each in found
    ]  # fmt: skip
    yield from table(heads, rows)


def main() -> int:
    """Run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__)
    parser.add_argument("--out", type=Path, default=TRIALS, help="folder for the results")
    parser.add_argument("--one", nargs=2, metavar=("CASE", "WHO"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(asdict(measure(*given.one))))
        return 0
    found = [_in_a_process(case, who) for case, both in CASES.items() for who in both]
    text = "\n".join(page(found)) + "\n"
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "tuning.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
