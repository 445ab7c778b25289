"""All workloads, by name, in the order they are run and shown."""

from __future__ import annotations

from ..case import Workload
from . import attention, elementwise, launch, layout, matmul, reduction, rows, threads


def _named(*families: tuple[Workload, ...]) -> dict[str, Workload]:
    found: dict[str, Workload] = {}
    for workload in (w for family in families for w in family):
        if workload.name in found:
            raise ValueError(f"two workloads are called {workload.name}")
        found[workload.name] = workload
    return found


WORKLOADS = _named(
    elementwise.WORKLOADS,
    rows.WORKLOADS,
    matmul.WORKLOADS,
    attention.WORKLOADS,
    layout.WORKLOADS,
    reduction.WORKLOADS,
    threads.WORKLOADS,
    launch.WORKLOADS,
)
