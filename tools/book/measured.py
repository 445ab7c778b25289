"""Put measurements into the book: plots of the benchmarks, and those of the tutorials.

    python tools/book/measured.py [--gpu] [TUTORIAL ...]

runs the tutorials' own contests on this machine and writes docs/figures/NAME.json. A tutorial has a
function `contest(size)`, which returns candidates by name, and `SIZES`; the plot stands at the line
`<!-- measured -->`. Without a file the line stays empty.

With --gpu, candidates that are ops run on the GPU, by whose clock they are timed: NAME_gpu.json is
drawn at `<!-- measured on a GPU -->`.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from math import inf
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
import snippets
import tilewright as tw
from benchmarks.machine import describe
from book import plots
from book.drawing import Canvas

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "figures"
RESULTS = ROOT / "benchmarks" / "results"
ROUNDS, SECONDS, WARMUP = 21, 1.5, 3
"""How often all candidates run: so many times at least, and for so long."""
LONG = 3e-3
"""Seconds from which on hardly any run of a busy machine is undisturbed."""
MOST = 5.0
"""Where bars of relative times end."""
MARK = re.compile(r"^<!-- measured -->$", re.MULTILINE)
GPU_MARK = re.compile(r"^<!-- measured on a GPU -->$", re.MULTILINE)
OF_GPU = "_gpu"
"""The end of the name of what was measured there."""


HEAD = f"""# Measurements

Every plot is drawn from the JSON files of `benchmarks/results`: median times, relative to
Tilewright. A bar longer than 1 is slower than Tilewright, a shorter one is faster. Bars end at
{MOST:g}.

[How they are measured](../README.md).
"""


def with_plots(markdown: str, page: str) -> str:
    """Return a page with its plots, as far as its contest was measured."""
    for mark, end in ((MARK, ""), (GPU_MARK, OF_GPU)):
        path = FIGURES / f"{Path(page).stem}{end}.json"
        if path.exists() and mark.search(markdown):
            drawn = _plot(json.loads(path.read_text(encoding="utf-8")))
            markdown = drawn.join(mark.split(markdown))
    return markdown


def _plot(figure: Mapping[str, Any]) -> str:
    machine = figure["machine"]
    drawn = plots.lines(
        figure["title"], figure["across"], "microseconds", figure["sizes"],
        {name: [s * 1e6 for s in seconds] for name, seconds in figure["seconds"].items()},
    )  # fmt: skip
    when = f"at commit `{machine['commit']}`, {machine['date']}"
    if "gpu" in machine:
        said = f"Medians by the clock of the GPU, in turns, {when}, on an {machine['gpu']}."
    else:
        cores = "one core" if machine["cores"] == "1" else f"{machine['cores']} cores"
        said = (
            f"Least times of {figure['rounds']} runs and more, in turns, {when}, on {cores} of "
            f"{machine['cpu']}. Long runs that were interrupted are left out."
        )
    return f"{_figure(drawn)}\n\n{said}\n"


def _figure(canvas: Canvas) -> str:
    return f'<figure class="picture" data-search-exclude>{canvas.inline()}</figure>'.replace(
        "\n", ""
    )


def page() -> str:
    """Return the page of the benchmarks: a plot for each family, and links to all tables."""
    parts = [HEAD]
    for title, stem, families in (
        ("On a CPU", "results", None),
        ("On a GPU", "gpu", ("add", "softmax", "rms_norm", "layer_norm", "gemm", "attention")),
        ("SIMT kernels on a GPU", "simt", None),
    ):
        data = json.loads((RESULTS / f"{stem}.json").read_text(encoding="utf-8"))
        machine = data["machine"]
        where = machine.get("gpu") or machine["cpu"]
        parts.append(f"## {title}\n")
        source = f"{where}, {machine['date']}, commit `{machine['commit']}`"
        parts.append(f"{source}. [Table]({stem}.md).\n")
        for name, records in _families(data["records"], families):
            groups = {r.get("about") or r["name"]: _relative(r["figures"]) for r in records}
            shown = {k: v for k, v in groups.items() if v}
            drawn = plots.bars(name, "time, Tilewright = 1", shown, MOST)
            parts.append(_figure(drawn) + "\n")
    others = sorted(p.stem for p in RESULTS.glob("*.md"))
    parts.append("## All tables\n")
    parts.append("\n".join(f"- [{name}]({name}.md)" for name in others) + "\n")
    return "\n".join(parts)


def _families(
    records: list[dict[str, Any]], wanted: Iterable[str] | None
) -> list[tuple[str, list[dict[str, Any]]]]:
    if wanted is None:
        rows = [r for r in records if r.get("threads", "all") == "all"]
        return [("all rows", rows)]
    grouped = [(family, [r for r in records if r["family"] == family]) for family in wanted]
    return [(family, rows[:: max(1, len(rows) // 5)]) for family, rows in grouped if rows]


def _relative(figures: dict[str, dict[str, float]]) -> dict[str, float]:
    own = figures.get("tilewright", {}).get("median")
    if not own:
        return {}
    return {name: each["median"] / own for name, each in figures.items()}


def measure(name: str, *, on_gpu: bool = False) -> dict[str, Any]:
    """Run the contest of one tutorial, and return what the book keeps of it."""
    machine = describe()
    if on_gpu:
        machine["gpu"] = tw.default_device().name
    namespace = run_page(ROOT / "docs" / "tutorials" / f"{name}.md")
    seconds: dict[str, dict[int, float]] = {}
    for size in namespace["SIZES"]:
        candidates = namespace["contest"](size)
        timed = _by_the_gpu(candidates) if on_gpu else _in_turns(candidates)
        for candidate, taken in timed.items():
            seconds.setdefault(candidate, {})[size] = taken
    return {
        "title": namespace["TITLE"], "across": namespace["ACROSS"],
        "sizes": list(namespace["SIZES"]), "rounds": ROUNDS,
        "seconds": {
            name: [taken.get(size, 0.0) for size in namespace["SIZES"]]
            for name, taken in seconds.items()
        },
        "machine": machine,
    }  # fmt: skip


def run_page(path: Path) -> dict[str, Any]:
    """Run the program of a page, and return its names."""
    text = path.read_text(encoding="utf-8")
    runs = [
        block for block in snippets.blocks(text)
        if block.language.split()[:1] == ["python"]
        and block.language.split()[-1] not in ("skip", "gpu")
    ]  # fmt: skip
    written = ROOT / "build" / "figures" / f"{path.stem}.py"
    written.parent.mkdir(parents=True, exist_ok=True)
    code = snippets.lines_of(text, runs)
    written.write_text(code, encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, str(written), "exec"), namespace)
    return namespace


def run_once(candidate: Callable[[], object]) -> None:
    """Do the work of a candidate to its end: if it returns an op, run that."""
    result = candidate()
    if isinstance(result, tw.DeviceOp):
        result.sync()


def _in_turns(candidates: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return the least seconds of each candidate; all are run in turns.

    The least of many short runs changes little with what else the machine does. Long ones in which
    the system gave a processor to another thread do not count; 0 stands for no run that counts.
    """
    least = dict.fromkeys(candidates, inf)
    for candidate in candidates.values():
        for _ in range(WARMUP):
            run_once(candidate)
    end, rounds = time.monotonic() + SECONDS, 0
    while rounds < ROUNDS or time.monotonic() < end:
        rounds += 1
        for name, candidate in candidates.items():
            disturbed, begun = _interruptions(), time.perf_counter()
            run_once(candidate)
            taken = time.perf_counter() - begun
            if taken < LONG or _interruptions() == disturbed:
                least[name] = min(least[name], taken)
    return {name: seconds if seconds < inf else 0.0 for name, seconds in least.items()}


def _by_the_gpu(candidates: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return the median seconds of each candidate that is an op."""
    ops: dict[str, Callable[[], tw.DeviceOp[Any]]] = {}
    for name, candidate in candidates.items():
        made = candidate()
        if isinstance(made, tw.DeviceOp):
            made.sync()
            ops[name] = candidate  # type: ignore[assignment]  # as its first result says
    compared = tw.bench(ops)
    return {name: compared[name].median for name in ops}


def _interruptions() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def tutorials(mark: re.Pattern[str] = MARK) -> list[str]:
    """Return the tutorials that have a contest."""
    pages = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
    return [p.stem for p in pages if mark.search(p.read_text(encoding="utf-8"))]


def main(arguments: list[str]) -> None:
    """Measure tutorials, by default all, and write their figures."""
    on_gpu = "--gpu" in arguments
    names = [name for name in arguments if name != "--gpu"]
    FIGURES.mkdir(parents=True, exist_ok=True)
    for name in names or tutorials(GPU_MARK if on_gpu else MARK):
        print(f"measuring {name}")
        try:
            with tw.device("cuda" if on_gpu else tw.default_device()):
                text = json.dumps(measure(name, on_gpu=on_gpu), indent=1)
        except ModuleNotFoundError as error:
            print(f"left out: {error}")
            continue
        path = FIGURES / f"{name}{OF_GPU if on_gpu else ''}.json"
        path.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
