"""The arithmetic of docs/scale.md: what 10,000 GPUs ask of a program, and of Tilewright.

    python -m benchmarks.scale                      the tables of the page
    python -m benchmarks.scale --measured build/bench/distributed.json

Every input stands in `PUBLISHED`, with its source, in `MEASURED`, or in `ASSUMED`, with the command
that measures it if there is one. With `--measured`, the model of all-reduces is fitted to what
`benchmarks.distributed` has measured over Gloo, and compared with it: half of the sizes calibrate
it, the others are predicted.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Input:
    """A number that the model takes, and where it is from."""

    value: float
    unit: str
    source: str


PUBLISHED = {
    "nccl_node": Input(476e9, "B/s", "NVIDIA/nccl-tests issue 290: bus bandwidth of 8 H100"),
    "nccl_nic": Input(47e9, "B/s", "NVIDIA/nccl-tests issue 290: 46 to 48 GB/s per 400 Gb/s NIC"),
    "failures": Input(419 / (16_384 * 54 * 86_400), "1/s",
                      "Meta, Llama 3: 419 interruptions of 16,384 GPUs in 54 days"),
}  # fmt: skip
MEASURED = {
    "request": Input(16e-6, "s", "one request to a TCPStore of this machine, of a thousand"),
    "launch": Input(4.9e-6, "s", "a launch started on an H200: results/host_cuda.md, median"),
    "graph": Input(8.8e-6, "s", "a captured graph started on an H200: the same, median"),
}  # fmt: skip
ASSUMED = {
    "entry": Input(60e3, "B", "an entry of the cache; 8 kB on average for the CPU"),
    "compile": Input(1.0, "s", "a kernel for a GPU; make gpubench --warm measures it"),
    "hop_node": Input(2e-6, "s", "latency of one step between GPUs of a node"),
    "hop_net": Input(6e-6, "s", "latency of one step between nodes"),
    "store": Input(2e9, "B/s", "read bandwidth of one object store or file server"),
    "store_rate": Input(50e3, "1/s", "requests that one TCPStore answers in a second"),
    "disk": Input(1e9, "B/s", "write bandwidth of storage for each node"),
    "restart": Input(300.0, "s", "from a failure until all ranks train again"),
}  # fmt: skip
INPUTS: Mapping[str, Input] = {**PUBLISHED, **MEASURED, **ASSUMED}


@dataclass(frozen=True, slots=True)
class Cluster:
    """Nodes of GPUs, each with a NIC of its own."""

    gpus: int = 10_000
    per_node: int = 8

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return -(-self.gpus // self.per_node)


def value(name: str) -> float:
    """The number of an input."""
    return INPUTS[name].value


# Compiled code


@dataclass(frozen=True, slots=True)
class CompileStorm:
    """A cluster starts a program of so many kernels at once."""

    cluster: Cluster
    kernels: int = 200
    workers: int = 8
    """Kernels that a node compiles at the same time."""

    def everywhere(self) -> float:
        """Seconds of processors, if every process compiles for itself."""
        return self.cluster.gpus * self.kernels * value("compile")

    def once(self) -> float:
        """The same with one cache for the cluster."""
        return self.kernels * value("compile")

    def wait(self) -> float:
        """Seconds until the last process has all kernels: one node compiles, the others read."""
        return self.kernels * value("compile") / self.workers + self.reading()

    def traffic(self) -> float:
        """Bytes that the cache sends: one copy of each entry to each node."""
        return self.cluster.nodes * self.kernels * value("entry")

    def reading(self) -> float:
        """Seconds in which one server sends them."""
        return self.traffic() / value("store")


# Launches


def host_share(step: float, launches: int, *, graph: bool) -> float:
    """The part of a step that the host takes to launch it."""
    return (value("graph") if graph else launches * value("launch")) / step


def slowest(step: float, jitter: float, ranks: int) -> float:
    """The expected time of a step that waits for the slowest of many ranks.

    The times are normal; the expected greatest of n is near sigma * sqrt(2 ln n).
    """
    return step + jitter * math.sqrt(2 * math.log(ranks)) if ranks > 1 else step


# Collectives


@dataclass(frozen=True, slots=True)
class Link:
    """What moves data between ranks: seconds for each step, and bytes in a second."""

    latency: float
    bandwidth: float


NODE = Link(value("hop_node"), value("nccl_node"))
NET = Link(value("hop_net"), value("nccl_nic"))


def ring(ranks: int, nbytes: float, link: Link) -> float:
    """Seconds of an all-reduce around a ring: twice round, a part of the data in each step."""
    if ranks == 1:
        return 0.0
    return 2 * (ranks - 1) * (link.latency + nbytes / ranks / link.bandwidth)


def tree(ranks: int, nbytes: float, link: Link) -> float:
    """Seconds of an all-reduce up and down a double binary tree, pipelined."""
    if ranks == 1:
        return 0.0
    return 2 * math.ceil(math.log2(ranks)) * link.latency + 2 * nbytes / link.bandwidth


def by_topology(cluster: Cluster, nbytes: float) -> float:
    """Seconds of an all-reduce in three stages.

    A reduce-scatter in each node, an all-reduce of each eighth between the nodes, by the NIC of
    each GPU, and an all-gather in each node; the middle one takes the better of ring and tree.
    """
    inside = ring(cluster.per_node, nbytes, NODE)
    part = nbytes / cluster.per_node
    return inside + min(ring(cluster.nodes, part, NET), tree(cluster.nodes, part, NET))


def flat(cluster: Cluster, nbytes: float) -> float:
    """Seconds of one ring through all GPUs, whose links between nodes carry all of it."""
    return ring(cluster.gpus, nbytes, NET)


def agreement(ranks: int, *, groups: int = 1) -> float:
    """Seconds of the agreement before a collective: three requests of each rank to one store.

    With `groups` stores the ranks agree in each, and one of each agrees with the others.
    """
    requests = 3 * (-(-ranks // groups))
    inner = max(requests / value("store_rate"), 3 * value("request"))
    return inner if groups == 1 else inner + agreement(groups)


# Failures and checkpoints


def between_failures(gpus: int) -> float:
    """Seconds between two failures that interrupt a job."""
    return 1 / (gpus * value("failures"))


def best_interval(write: float, failures: float) -> float:
    """Seconds between checkpoints that lose the least, by Young's formula."""
    return math.sqrt(2 * write * failures)


def goodput(gpus: int, nbytes: float) -> float:
    """The part of the time that is training, with the best interval and every node writing."""
    cluster = Cluster(gpus)
    write, failures = nbytes / cluster.nodes / value("disk"), between_failures(gpus)
    interval = best_interval(write, failures)
    lost = write / interval + (interval / 2 + value("restart")) / failures
    return max(0.0, 1 - lost)


# Calibration


def fitted(measured: Mapping[int, float], ranks: int) -> Link:
    """The link whose ring fits measured all-reduces best, by least squares of relative errors."""
    steps = 2 * (ranks - 1)
    rows = [(steps / t, steps * n / ranks / t) for n, t in measured.items()]
    aa, ab, bb = (sum(r[i] * r[j] for r in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    a, b = sum(r[0] for r in rows), sum(r[1] for r in rows)
    determinant = aa * bb - ab * ab
    latency, per_byte = (a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant
    return Link(max(latency, 0.0), 1 / max(per_byte, 1e-15))


def calibration(path: Path) -> list[str]:
    """Lines that compare the model with measured all-reduces over Gloo."""
    found = json.loads(path.read_text(encoding="utf-8"))
    ranks = found["size"]
    times = {int(n): float(t) for n, t in found["all_reduce"]["calls"].items()}
    sizes = sorted(times)
    link = fitted({n: times[n] for n in sizes[::2]}, ranks)
    lines = [
        f"{ranks} processes: {link.latency * 1e6:.0f} us a step, {link.bandwidth / 1e9:.2f} GB/s"
    ]
    for nbytes in sizes:
        model, kind = ring(ranks, nbytes, link), "fitted" if nbytes in sizes[::2] else "predicted"
        off = model / times[nbytes] - 1
        lines.append(
            f"{nbytes:>10} {times[nbytes] * 1e6:9.0f} us {model * 1e6:9.0f} us {off:+6.0%} {kind}"
        )
    return lines


# The tables


def tables() -> str:
    """The tables of docs/scale.md."""
    cluster = Cluster()
    return "\n\n".join([_storms(cluster), _launches(cluster), _collectives(), _failures()])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True))
             for row in (head, *rows)]  # fmt: skip
    return "\n".join(lines)


def _storms(cluster: Cluster) -> str:
    rows: list[list[str]] = []
    for gpus in (8, 1_000, 10_000):
        storm = CompileStorm(replace(cluster, gpus=gpus))
        rows.append([
            f"{gpus}", f"{storm.everywhere() / 3600:.1f} h", f"{storm.once():.0f} s",
            f"{storm.traffic() / GIB:.2f} GiB", f"{storm.wait():.0f} s",
        ])  # fmt: skip
    return _table(["GPUs", "compiled everywhere", "once", "read by nodes", "until all run"], rows)


def _launches(cluster: Cluster) -> str:
    rows: list[list[str]] = []
    for step in (1.0, 0.1, 0.01):
        waits = slowest(step, 0.02 * step, cluster.gpus)
        rows.append([
            f"{step * 1e3:.0f} ms", f"{host_share(step, 2_000, graph=False):.1%}",
            f"{host_share(step, 2_000, graph=True):.2%}", f"{waits / step - 1:.1%}",
        ])  # fmt: skip
    return _table(["step", "2,000 launches", "one graph", "waiting for the slowest"], rows)


def _collectives() -> str:
    rows: list[list[str]] = []
    for gpus in (8, 64, 1_000, 10_000):
        cluster, cells = Cluster(gpus), [f"{gpus}"]
        for nbytes in (1 << 20, 1 << 26, 1 << 30):
            cells.append(f"{by_topology(cluster, nbytes) * 1e3:.2f} ms")
        cells.append(f"{flat(cluster, 1 << 30) * 1e3:.0f} ms" if gpus > cluster.per_node else "-")
        one = agreement(gpus)
        many = agreement(gpus, groups=max(1, round(math.sqrt(gpus))))
        rows.append([*cells, f"{one * 1e3:.2f} ms", f"{many * 1e3:.2f} ms"])
    head = ["GPUs", "1 MiB", "64 MiB", "1 GiB", "1 GiB, flat ring", "one store", "stores by group"]
    return _table(head, rows)


def _failures() -> str:
    rows: list[list[str]] = []
    nbytes = 2e12
    for gpus in (1_000, 10_000, 16_384, 100_000):
        write = nbytes / Cluster(gpus).nodes / value("disk")
        failures = between_failures(gpus)
        rows.append([
            f"{gpus}", f"{failures / 3600:.1f} h", f"{write:.1f} s",
            f"{best_interval(write, failures) / 60:.1f} min", f"{goodput(gpus, nbytes):.1%}",
        ])  # fmt: skip
    return _table(["GPUs", "between failures", "checkpoint", "best interval", "training"], rows)


def main() -> None:
    """Print the tables, the inputs, and how far the model is from what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measured", type=Path, help="figures of benchmarks.distributed")
    asked = parser.parse_args()
    print(tables())
    print()
    for kind, inputs in (("published", PUBLISHED), ("measured", MEASURED), ("assumed", ASSUMED)):
        for name, found in inputs.items():
            print(f"{kind:>10} {name:>10} {found.value:12.4g} {found.unit:4} {found.source}")
    if asked.measured:
        print("\n" + "\n".join(calibration(asked.measured)))


if __name__ == "__main__":
    main()
