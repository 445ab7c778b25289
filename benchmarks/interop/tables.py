"""The tables: foreign launches, calls of PyTorch's operators, calls of JAX's functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from ..case import NotAvailable
from ..host.experiments import Experiment
from ..host.probes import Probe, measured
from ..host.report import Table
from ..host.work import SMALL
from ..records import Figures
from ..timing import Effort
from . import arrays, foreign

Makers: TypeAlias = Mapping[str, Mapping[str, Callable[[], Probe]]]
"""By row, then by who takes part: makes the probe, once its answer was found right."""


def contest(makers: Makers, effort: Effort) -> tuple[dict[str, dict[str, Figures]], dict[str, str]]:
    """The figures of all who can take part, and why others cannot."""
    rows: dict[str, dict[str, Figures]] = {}
    absent: dict[str, str] = {}
    for row, ways in makers.items():
        able: dict[str, Probe] = {}
        for way, make in ways.items():
            try:
                able[way] = make()
            except (NotAvailable, ImportError) as reason:
                absent[f"{way}, {row}"] = str(reason)
            except Exception as error:  # the others go on and the report shows it
                absent[f"{way}, {row}"] = f"{type(error).__name__}: {error}".splitlines()[0]
        if able:
            rows[row] = measured(able, effort)
    return rows, absent


def launches(effort: Effort) -> Table:
    """Kernels of others, started."""
    rows, absent = contest(foreign.MAKERS, effort)
    return Table(
        "foreign", "Kernels of others",
        f"A kernel over {SMALL} elements, its tensors ready, and in ours what is written borrowed"
        " anew each time. The host's time to put it on a stream: ours by"
        " `kernel(args).start_on(stream)`, or with arguments pushed one by one; theirs by"
        " their own launch.",
        "kernel", rows, absent=absent,
    )  # fmt: skip


def operators(device: str, effort: Effort) -> Table:
    """Operators of PyTorch."""
    rows, absent = contest(arrays.torch_makers(device), effort)
    return Table(
        "torch", "Operators of PyTorch",
        f"A tensor of {SMALL} elements times a number. The host's time for a call; on the CPU it is"
        " done then. A `torch.library.custom_op` in Python is what others would write: around a"
        " kernel of Triton on a GPU, around PyTorch's own on the CPU.",
        "call", rows, absent=absent,
    )  # fmt: skip


def functions(device: str, effort: Effort) -> Table:
    """Functions of JAX."""
    rows, absent = contest(arrays.jax_makers(device), effort)
    return Table(
        "jax", "Functions of JAX",
        f"An array of {SMALL} elements times a number, under `jax.jit`, until it is done.",
        "call", rows, absent=absent,
    )  # fmt: skip


def experiments(device: str) -> dict[str, Experiment]:
    """The tables for a kind of device."""
    found: dict[str, Experiment] = {} if device == "cpu" else {"foreign": launches}
    return {**found, "torch": partial(operators, device), "jax": partial(functions, device)}
