"""A launch by how it is written, on a GPU: ours beside what others write for the same work.

Where others have no such form, a scalar that is checked or a partition that is new, they do the
same work in the form they have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np

import tilewright as tw

from ... import peers
from ...case import Array, NotAvailable
from ...data import random
from ...host import kernels
from ...host.probes import Probe, measured
from ...host.report import Goal, Table
from ...host.work import SMALL, inputs, output, placed
from ...records import Figures
from ...timing import Effort
from ..case import CUTILE, OURS, TORCH, TRITON, Tensor
from .contestants import DRIVER, OF_ONE, Launcher, found_module, qualified
from .tables import started, waited

FACTOR = 2.0

Form: TypeAlias = Callable[[Array], Launcher]
"""Makes one who launches with this input; the answer is that of the form."""

GOALS = {
    "1 tensor": 3.5, "2 tensors": 3.5, "16 tensors": 4.5, "a scalar": 6.0,
    "a check in the kernel": 6.0, "a new partition": 6.0, "the default streams": 6.0,
    "a pair, the second reads what the first wrote": 10.0, "an allocation and a launch": 10.0,
    "a torch tensor": 10.0, "the README's chain": 15.0,
}  # fmt: skip
"""Microseconds of the host to start it, at most, by medians."""
OVER_DRIVER = 3.0
"""Microseconds by which a launch that is waited for may take longer than the driver's own."""
WAITED = "2 tensors, waited for"


def forms(effort: Effort) -> Table:
    """A launch by how it is written."""
    probes: dict[tuple[str, str], Probe] = {}
    absent: dict[str, str] = {}
    for row, name, make in _contests():
        try:
            launcher = make()
        except NotAvailable as reason:
            absent[f"{name}, {row}"] = str(reason)
        except Exception as error:  # whatever it is, the others go on and the report shows it
            absent[f"{name}, {row}"] = f"{type(error).__name__}: {error}".splitlines()[0]
        else:
            probes[row, name] = waited(launcher) if row == WAITED else started(launcher)
    rows: dict[str, dict[str, Figures]] = {}
    for (row, name), found in measured(probes, effort).items():
        rows.setdefault(row, {})[name] = found
    return Table(
        "launch_forms", "Starting a launch, by how it is written",
        f"A kernel of two tensors of {SMALL} elements, unless the row says otherwise: the host's"
        " time to build it and put it on a stream, without the time until it is done.",
        "form", rows, goals=list(_goals(rows)), absent=absent,
    )  # fmt: skip


def _contests() -> Iterator[tuple[str, str, Callable[[], Launcher]]]:
    """Each row, who takes part, and what makes it ready."""
    for row, count in (("1 tensor", 1), ("2 tensors", 2), ("16 tensors", 16), (WAITED, 2)):
        for name, maker in OF_ONE.items():
            yield row, name, partial(qualified, maker, inputs(count), 1)
    for row, ways in _FORMS.items():
        for name, form in ways.items():
            yield row, name, partial(_right, form, row)


def _right(form: Form, row: str) -> Launcher:
    """One whose answer was found right; the one that was tried is not used again."""
    x = random((SMALL,))
    tried = form(x)
    tried.run()
    expected = x * FACTOR if row == "a scalar" else x
    if not np.array_equal(tried.answer(), expected):
        raise ValueError("its answer is wrong")
    return form(x)


def _goals(rows: Mapping[str, Mapping[str, Figures]]) -> Iterator[Goal]:
    for row, most in GOALS.items():
        if OURS in rows.get(row, {}):
            yield Goal(f"us, {row}", rows[row][OURS].median * 1e6, most)
    for row, cells in rows.items():
        if OURS in cells and TRITON in cells:
            share = cells[OURS].median / cells[TRITON].median
            yield Goal(f"of {TRITON}'s time, {row}", share, 1.0)
    cells = rows.get(WAITED, {})
    if OURS in cells and DRIVER in cells:
        over = (cells[OURS].median - cells[DRIVER].median) * 1e6
        yield Goal("us over the driver's launch and wait", over, OVER_DRIVER)


# --- ours ----------------------------------------------------------------------------------------


def _ours(
    start: Callable[[Any, Any, Any], object], x: Array, z: Any, given: Any = None
) -> Launcher:
    """`start(z, x, stream)` puts it on a stream; `z` is what is written, or None: a new tensor."""
    stream, read = tw.default_device().new_stream(), placed(x) if given is None else given
    latest: list[Any] = [z]

    def launch() -> None:
        made = start(z, read, stream)
        if z is None:
            latest[0] = made

    return Launcher(launch, _synchronize(stream), lambda: latest[0].to_numpy())


def _synchronize(stream: Any) -> Callable[[], object]:
    """Waits for all streams: those of the policy too."""

    def wait() -> None:
        stream.synchronize()
        tw.default_device().synchronize()

    return wait


def _ours_scaled(x: Array) -> Launcher:
    z = output()
    p = z.partition_mut(SMALL)
    return _ours(lambda _, x, stream: kernels.scaled(p, x, FACTOR).start_on(stream), x, z)


def _ours_checked(x: Array) -> Launcher:
    z, where = output(), placed(np.zeros(1, np.int32))
    p = z.partition_mut(SMALL)
    return _ours(lambda _, x, stream: kernels.picked(p, x, where).start_on(stream), x, z)


def _ours_cut(x: Array) -> Launcher:
    return _ours(
        lambda z, x, stream: kernels.sum2(z.partition_mut(SMALL), x).start_on(stream), x, output()
    )


def _ours_anywhere(x: Array) -> Launcher:
    z = output()
    p = z.partition_mut(SMALL)
    return _ours(lambda _z, x, _: kernels.sum2(p, x).start(), x, z)


def _ours_pair(x: Array) -> Launcher:
    between, z = output(), output()

    def start(z: Any, x: Any, stream: Any) -> None:
        kernels.sum2(between.partition_mut(SMALL), x).start_on(stream)
        kernels.sum2(z.partition_mut(SMALL), between).start_on(stream)

    return _ours(start, x, z)


def _ours_made(x: Array) -> Launcher:
    def start(_: Any, x: Any, stream: Any) -> Any:
        z = tw.empty((SMALL,)).sync()
        kernels.sum2(z.partition_mut(SMALL), x).start_on(stream)
        return z

    return _ours(start, x, None)


def _ours_torch(x: Array) -> Launcher:
    z, given = output(), peers.torch().from_numpy(x).cuda()
    p = z.partition_mut(SMALL)
    return _ours(lambda _, x, stream: kernels.sum2(p, x).start_on(stream), x, z, given)


def _ours_chain(x: Array) -> Launcher:
    def start(_: Any, x: Any, stream: Any) -> Any:
        return kernels.sum2(tw.empty_like(x).partition(SMALL), x).out().start_on(stream)

    return _ours(start, x, None)


# --- others --------------------------------------------------------------------------------------


def _peer(start: Callable[[Any, Tensor, Any], Any], x: Array, *, makes: bool = False) -> Launcher:
    """`start(z, x, stream)` on tensors of torch and its stream; `makes`: it gives a new `z`."""
    lib = peers.torch()
    stream, read = lib.cuda.current_stream(), lib.from_numpy(x).cuda()
    z = None if makes else lib.full((SMALL,), float("nan"), dtype=lib.float32, device="cuda")
    latest: list[Any] = [z]

    def launch() -> None:
        made = start(z, read, stream)
        if makes:
            latest[0] = made

    answer: Callable[[], Array] = lambda: np.asarray(latest[0].cpu().numpy())  # noqa: E731
    return Launcher(launch, stream.synchronize, answer)


def _language(module: str, form: str) -> Form:
    """A form in another kernel language."""
    return lambda x: _in_language(found_module(module), form, x)


def _in_language(language: Any, form: str, x: Array) -> Launcher:
    lib = peers.torch()
    if form in ("scaled", "picked"):
        where = lib.zeros(1, dtype=lib.int32, device="cuda")
        more = FACTOR if form == "scaled" else where
        start = getattr(language, form)
        return _peer(lambda z, x, stream: start(stream, z, x, more), x)
    copy = language.copied
    if form == "pair":
        between = lib.full((SMALL,), float("nan"), dtype=lib.float32, device="cuda")

        def both(z: Any, x: Any, stream: Any) -> None:
            copy(stream, between, x)
            copy(stream, z, between)

        return _peer(both, x)
    if form == "made":

        def made(_: Any, x: Any, stream: Any) -> Any:
            z = lib.empty_like(x)
            copy(stream, z, x)
            return z

        return _peer(made, x, makes=True)
    return _peer(lambda z, x, stream: copy(stream, z, x), x)


def _torch(form: str) -> Form:
    """The same work by an operator of torch."""
    lib = peers.torch

    def pair(x: Array) -> Launcher:
        between = lib().full((SMALL,), float("nan"), dtype=lib().float32, device="cuda")

        def both(z: Any, x: Any, _: Any) -> None:
            lib().mul(x, 1.0, out=between)
            lib().mul(between, 1.0, out=z)

        return _peer(both, x)

    ways: dict[str, Form] = {
        "copied": lambda x: _peer(lambda z, x, _: lib().mul(x, 1.0, out=z), x),
        "scaled": lambda x: _peer(lambda z, x, _: lib().mul(x, FACTOR, out=z), x),
        "pair": pair,
        "made": lambda x: _peer(lambda _z, x, _s: lib().mul(x, 1.0), x, makes=True),
    }
    return ways[form]


def _row(ours: Form, form: str, torch: str | None = None) -> dict[str, Form]:
    """Who takes part in a row."""
    row = {
        OURS: ours,
        CUTILE: _language("cutile_kernels", form),
        TRITON: _language("triton_kernels", form),
    }
    return row if torch is None else {**row, TORCH: _torch(torch)}


_FORMS: dict[str, dict[str, Form]] = {
    "a scalar": _row(_ours_scaled, "scaled", "scaled"),
    "a check in the kernel": _row(_ours_checked, "picked"),
    "a new partition": _row(_ours_cut, "copied", "copied"),
    "the default streams": _row(_ours_anywhere, "copied", "copied"),
    "a pair, the second reads what the first wrote": _row(_ours_pair, "pair", "pair"),
    "an allocation and a launch": _row(_ours_made, "made", "made"),
    "a torch tensor": _row(_ours_torch, "copied", "copied"),
    "the README's chain": _row(_ours_chain, "made", "made"),
}
