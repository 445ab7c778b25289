"""Blocks about what the host pays, from `host.json` and `interop.json`, by medians."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from ..host.report import Report, Table, from_json
from ..records import Figures
from ..table import duration, table
from .reading import Block, origin, wrapped


def read(results: Path, name: str) -> Report:
    """Read a report."""
    return from_json((results / f"{name}.json").read_text(encoding="utf-8"))


def tables(report: Report) -> Mapping[str, Table]:
    """Return the tables of a report by name."""
    return {each.name: each for each in report.tables}


def median(shown: Table, row: str, way: str) -> str:
    """Return the median of one cell."""
    return duration(shown.rows[row][way].median)


def launches(results: Path) -> Iterator[str]:
    """What a launch costs by how it is written."""
    report = read(results, "host")
    forms = tables(report)["host_forms"]
    way, numpy = forms.columns
    chains = tables(report)["host_graph"]

    def of(row: str) -> str:
        return median(forms, row, way)

    yield from wrapped(
        f"A warm launch of a kernel on 16 elements that the caller waits for takes "
        f"{of('a partition that is kept')}, with 16 tensors {of('16 tensors')}, with a new "
        f"partition {of('partition_mut in the call')}, on a view {of('a view')}, on a NumPy array "
        f"{of('a NumPy array')}, by `await` {of('await')}; `np.add` of as many elements takes "
        f"{median(forms, 'a partition that is kept', numpy)}. A chain of 1000 launches takes "
        f"{median(chains, '1000 ops', 'chained, one sync')}, a graph of them "
        f"{median(chains, '1000 ops', 'graph replay')}. Medians of {origin(report.machine)} "
        f"([all tables](benchmarks/results/host.md))."
    )


def gpu_launches(results: Path) -> Iterator[str]:
    """What a launch on a GPU costs the host, by how it is written."""
    report = read(results, "host_cuda")
    forms = tables(report)["host_forms"]
    others = ("Triton", "torch", "cuLaunchKernel")
    way = forms.columns[0]
    yield from wrapped(
        "A launch of a kernel on 16 elements as users write it: waited for, or, where the row says "
        f"so, only started. Medians of {origin(report.machine)}, minima in brackets "
        "(`benchmarks/results/host_cuda.md` has all tables)."
    )
    yield ""
    rows = [
        [row, *(_both(cells[name]) if name in cells else "" for name in (way, *others))]
        for row, cells in forms.rows.items()
    ]
    yield from table(("form", "Tilewright", *others), rows)


def _both(found: Figures) -> str:
    return f"{duration(found.median)} ({duration(found.minimum)})"


def torch(results: Path, name: str, place: str, around: str) -> Iterator[str]:
    """What an operator of PyTorch costs."""
    report = read(results, name)
    shown = tables(report)["torch"]
    ours, custom, own = (median(shown, "a call", way) for way in shown.columns)
    yield from wrapped(
        f"- {place} an operator costs the host {ours} per call, a `torch.library.custom_op` in "
        f"Python around a {around} kernel {custom}, a PyTorch operator {own} (medians of "
        f"{origin(report.machine)}).",
        indent="  ",
    )


def jax(results: Path, name: str, place: str) -> Iterator[str]:
    """What a function of JAX costs."""
    report = read(results, name)
    shown = tables(report)["jax"]
    ours, own = (median(shown, "a call", way) for way in shown.columns)
    yield from wrapped(
        f"- {place} a call and the wait for its end take {ours}, those of a JAX function {own} "
        f"(medians of {origin(report.machine)}).",
        indent="  ",
    )


def foreign(results: Path) -> Iterator[str]:
    """What launches of foreign kernels cost on the host of a GPU."""
    report = read(results, "interop_cuda")
    shown = tables(report)["foreign"]
    yield from wrapped(
        f"On the host of a GPU a launch of a declared CUDA C++ kernel takes "
        f"{median(shown, 'CUDA C++', 'tilewright')}, including its borrow, with pushed arguments "
        f"{median(shown, 'CUDA C++', 'tilewright, pushed')}, by CuPy "
        f"{median(shown, 'CUDA C++', 'CuPy')}; one of a Triton kernel takes "
        f"{median(shown, 'Triton', 'tilewright')}, by Triton {median(shown, 'Triton', 'Triton')} "
        f"(medians of {origin(report.machine)}; later commits have not been measured so)."
    )


CPU, GPU = "On a CPU", "On the host of a GPU"

BLOCKS: dict[str, Block] = {
    "launches": launches,
    "gpu-forms": gpu_launches,
    "torch-cpu": partial(torch, name="interop", place=CPU, around="PyTorch"),
    "torch-gpu": partial(torch, name="interop_cuda", place=GPU, around="Triton"),
    "jax-cpu": partial(jax, name="interop", place=CPU),
    "jax-gpu": partial(jax, name="interop_cuda", place=GPU),
    "foreign": foreign,
}
