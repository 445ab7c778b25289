"""The command `python -m benchmarks.host`: what the host pays, as JSON, a page and a picture.

Results go to build/bench, or where --out says; those on a GPU have files of their own. `--draw`
makes page and picture of a JSON file measured elsewhere.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

import tilewright as tw

from ..__main__ import TRIALS
from ..machine import describe
from ..timing import Effort
from .experiments import EXPERIMENTS, Experiment
from .files import read, write
from .profile import launch_profile
from .report import Report, Table

USUAL, QUICK = Effort(seconds=0.3, rounds=5), Effort(seconds=0.03, rounds=1)
PROFILE = "profile"
GPU_FORMS = "launch_forms"
"""On a GPU: launches by how they are written, beside what others write."""


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.host", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="part of a name")
    parser.add_argument("--device", help="where to run, such as cpu or cuda; else the default one")
    parser.add_argument("--seconds", type=float, help="time for each figure")
    parser.add_argument("--out", type=Path, default=TRIALS, help="folder for the results")
    parser.add_argument("--draw", type=Path, metavar="JSON", help="only draw what was measured")
    parser.add_argument("--list", action="store_true", help="name the experiments and stop")
    return parser.parse_args(arguments)


def chosen(parts: Sequence[str]) -> list[str]:
    """The experiments whose names contain one of the parts, and the profile; all without parts."""
    known = [*EXPERIMENTS, GPU_FORMS, PROFILE]
    return [name for name in known if not parts or any(part in name for part in parts)]


def effort(given: argparse.Namespace) -> Effort:
    """How long to measure."""
    usual = QUICK if given.quick else USUAL
    return usual if given.seconds is None else Effort(given.seconds, usual.rounds)


def described(device: tw.Device) -> dict[str, str]:
    """The machine, with the device that the host works for."""
    model = getattr(device, "model", "")
    return {**describe(), "device": f"{device.name}, {model}" if model else device.name}


def stem(device: tw.Device) -> str:
    """The name of the files of a run on this device."""
    return "host" if device.host_visible else f"host_{device.name.partition(':')[0]}"


def experiments_on(device: tw.Device) -> Mapping[str, Experiment]:
    """What can be measured there."""
    if device.host_visible:
        return EXPERIMENTS
    beside: Experiment = import_module("benchmarks.gpu.launch.forms").forms
    return {**EXPERIMENTS, GPU_FORMS: beside}


def run(experiments: Mapping[str, Experiment], how: Effort) -> tuple[list[Table], list[str]]:
    """The tables of some experiments, and the names of those that failed."""
    tables: list[Table] = []
    failed: list[str] = []
    for name, experiment in experiments.items():
        print(name, file=sys.stderr, flush=True)
        try:
            tables.append(experiment(how))
        except Exception as error:  # the others go on; the command's status tells
            print(f"{name} failed: {type(error).__name__}: {error}", file=sys.stderr)
            failed.append(name)
    return tables, failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for."""
    given = parse(arguments)
    names, place = chosen(given.only), given.out
    if given.list or not names:
        print("\n".join([*EXPERIMENTS, GPU_FORMS, PROFILE]))
        return 0 if given.list else 2
    if given.draw is not None:
        write(read(given.draw), place)
        return 0
    with tw.device(given.device or tw.default_device()) as device:
        machine = described(device)
        known = experiments_on(device)
        wanted = {name: known[name] for name in names if name in known}
        tables, failed = run(wanted, effort(given))
        profile = launch_profile() if PROFILE in names else []
    write(Report(machine, tables, profile, stem=stem(device)), place)
    print(f"results are in {place}" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
