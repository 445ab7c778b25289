"""Describes the machine a run was made on, and how busy others kept it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

PACKAGES = ("tilewright", "numpy", "llvmlite", "torch", "numba")
ROOT = Path(__file__).parent.parent


def describe() -> dict[str, str]:
    """What a reader must know to judge the figures, by name."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": cpu_model(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": memory(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "commit": commit(),
        "load before": f"{os.getloadavg()[0]:.2f}",
    }


def version(package: str) -> str:
    """The version of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def cpu_model(listing: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's name, with the widest vectors it has."""
    if not listing.exists():
        return platform.processor() or platform.machine()
    facts: dict[str, str] = {}
    for line in listing.read_text().splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    name = facts.get("model name", platform.machine())
    flags = facts.get("flags", facts.get("Features", "")).split()
    vectors = next((f for f in ("avx512f", "avx2", "avx", "asimd") if f in flags), "")
    family = f"family {facts['cpu family']} model {facts['model']}" if "model" in facts else ""
    return ", ".join(part for part in (name, family, vectors) if part)


def memory(listing: Path = Path("/proc/meminfo")) -> str:
    """The machine's memory."""
    if not listing.exists():
        return "unknown"
    kilobytes = int(listing.read_text().split()[1])
    return f"{kilobytes / 2**20:.0f} GiB"


def commit() -> str:
    """The commit of the sources, marked if they were changed since."""
    asked = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return asked.stdout.strip() or "unknown"


class Neighbours:
    """Watches how much of the machine other processes use, from now on."""

    def __init__(self, listing: Path = Path("/proc/stat")) -> None:
        self._listing = listing
        self._begin = self._now()

    def share(self) -> float:
        """The part of all cores' time that others took, 0 to 1; 0 where nobody counts it."""
        busy, total, own = (b - a for a, b in zip(self._begin, self._now(), strict=True))
        return round(max(0.0, busy - own) / total, 3) if total > 0 else 0.0

    def _now(self) -> tuple[float, float, float]:
        if not self._listing.exists():
            return 0.0, 0.0, 0.0
        ticks = [int(n) for n in self._listing.read_text().split("\n", 1)[0].split()[1:9]]
        total, idle = sum(ticks), ticks[3] + ticks[4]
        second = os.sysconf("SC_CLK_TCK")
        return (total - idle) / second, total / second, time.process_time()
