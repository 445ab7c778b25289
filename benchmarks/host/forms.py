"""One small launch in the forms in which users write it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import tilewright as tw

from ..data import random
from ..records import Figures
from ..timing import Effort
from . import kernels
from .probes import Probe, measured, repeated
from .report import Goal, Table
from .work import SMALL, Loop, output, placed, started

BASE = "np.add"
"""What all forms are compared with, which has nothing to build, to order or to wait for."""

GOALS = {
    "a partition that is kept": 0.8,
    "16 tensors": 0.8,
    "a scalar": 1.0,
    "a constant by keyword": 1.0,
    "partition_mut in the call": 1.5,
    "a check in the kernel": 1.5,
    "a NumPy array": 5.0,
    "a torch tensor": 8.0,
    "tw.empty, then the launch": 5.0,
    "the README's chain": 10.0,
    "await": 6.0,
}
"""Microseconds on the CPU, at most, by medians."""

OPERATOR, DISPATCH = "a torch operator of ours", "a torch operator that does nothing"
OVER_DISPATCH = 8.0
"""Microseconds by which the first may take longer than the second."""


def forms(effort: Effort) -> Table:
    """A launch by how it is written, beside the same work by NumPy."""
    loop = Loop()
    try:
        found = measured({BASE: _numpy_add(), **_probes(loop)}, effort)
    finally:
        loop.close()
    base = found.pop(BASE)
    rows = {form: {"a launch": figures, BASE: base} for form, figures in found.items()}
    return Table(
        "host_forms", "A launch by how it is written",
        f"A kernel of two tensors of {SMALL} elements, unless the row says otherwise, built, run"
        f" and waited for; `{BASE}` of as many elements beside it.",
        "form", rows, goals=_goals(found) if tw.default_device().host_visible else (),
    )  # fmt: skip


def _goals(found: dict[str, Figures]) -> list[Goal]:
    goals = [
        Goal(f"us, {form}", found[form].median * 1e6, most)
        for form, most in GOALS.items()
        if form in found
    ]
    if OPERATOR in found:
        over = found[OPERATOR].median - found[DISPATCH].median
        goals.append(Goal("us, a torch operator over torch's dispatch", over * 1e6, OVER_DISPATCH))
    return goals


def _numpy_add() -> Probe:
    x, z = random((SMALL,)), np.empty(SMALL, np.float32)
    return repeated(lambda: np.add(x, x, out=z))


def _probes(loop: Loop) -> dict[str, Probe]:
    """Each with tensors of its own: a borrow of one form would end those of another."""
    return {
        **{form: repeated(build(lambda op: op.sync())) for form, build in _LAUNCHES.items()},
        "start": started(_LAUNCHES["a partition that is kept"](lambda op: op)),
        "into_future, result": repeated(
            _LAUNCHES["a partition that is kept"](lambda op: op.into_future().result())
        ),
        "await": loop.probe(_LAUNCHES["a partition that is kept"](lambda op: op)),
        **_torch_probes(),
    }


def _torch_probes() -> dict[str, Probe]:
    """Those with tensors of PyTorch, where that is installed and they are where launches run."""
    if not (tw.default_device().host_visible and find_spec("torch")):
        return {}
    torch: Any = import_module("torch")
    interop: Any = import_module("tilewright.interop.torch")
    x, z = torch.from_numpy(random((SMALL,))), output().partition_mut(SMALL)
    ours = interop.custom_op("tilewright_forms::copied", kernels.sum2, tiles=SMALL, outputs="a")
    library = torch.library.Library("tilewright_forms_bare", "DEF")
    library.define("nothing(Tensor x) -> Tensor")
    library.impl("nothing", torch.empty_like, "CPU")
    _KEPT.append(library)  # which takes its operators along when it dies
    nothing = torch.ops.tilewright_forms_bare.nothing.default
    return {
        "a torch tensor": repeated(lambda: kernels.sum2(z, x).sync()),
        OPERATOR: repeated(lambda: ours(x)),
        DISPATCH: repeated(lambda: nothing(x)),
    }


_KEPT: list[object] = []


End = Callable[[Any], Any]
"""What is done with a launch."""


def _kept(end: End) -> Callable[[], Any]:
    z, x = output().partition_mut(SMALL), placed(random((SMALL,)))
    return lambda: end(kernels.sum2(z, x))


def _sixteen(end: End) -> Callable[[], Any]:
    z, xs = output().partition_mut(SMALL), [placed(random((SMALL,))) for _ in range(15)]
    return lambda: end(kernels.sum16(z, *xs))


def _scalar(end: End) -> Callable[[], Any]:
    z, x = output().partition_mut(SMALL), placed(random((SMALL,)))
    return lambda: end(kernels.scaled(z, x, 2.0))


def _constant(end: End) -> Callable[[], Any]:
    z, x = output().partition_mut(SMALL), placed(random((SMALL,)))
    return lambda: end(kernels.multiplied(z, x, FACTOR=3))


def _partitioned(end: End) -> Callable[[], Any]:
    z, x = output(), placed(random((SMALL,)))
    return lambda: end(kernels.sum2(z.partition_mut(SMALL), x))


def _checked(end: End) -> Callable[[], Any]:
    z, x = output().partition_mut(SMALL), placed(random((SMALL,)))
    where = placed(np.zeros(1, np.int32))
    return lambda: end(kernels.picked(z, x, where))


def _view(end: End) -> Callable[[], Any]:
    z, x = output().partition_mut(SMALL), placed(random((2 * SMALL,)))
    return lambda: end(kernels.sum2(z, x[SMALL:]))


def _array(end: End) -> Callable[[], Any]:
    z, x = output().partition_mut(SMALL), random((SMALL,))
    return lambda: end(kernels.sum2(z, x))


def _empty(end: End) -> Callable[[], Any]:
    x = placed(random((SMALL,)))
    return lambda: end(kernels.sum2(tw.empty((SMALL,)).sync().partition_mut(SMALL), x))


def _chain(end: End) -> Callable[[], Any]:
    x = placed(random((SMALL,)))
    return lambda: end(kernels.sum2(tw.empty_like(x).partition(SMALL), x).out())


_LAUNCHES: dict[str, Callable[[End], Callable[[], Any]]] = {
    "a partition that is kept": _kept,
    "16 tensors": _sixteen,
    "a scalar": _scalar,
    "a constant by keyword": _constant,
    "partition_mut in the call": _partitioned,
    "a check in the kernel": _checked,
    "a view": _view,
    "a NumPy array": _array,
    "tw.empty, then the launch": _empty,
    "the README's chain": _chain,
}
"""What makes each form, given what is done with the launch."""
