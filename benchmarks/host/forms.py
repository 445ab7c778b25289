"""One small launch in the forms in which users write it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from .work import SMALL, Loop, output, placed, put, started

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

GPU_GOALS = {
    "start": 3.5,
    "start, 16 tensors": 4.5,
    "start, a scalar": 6.0,
    "start, partition_mut in the call": 6.0,
    "start, a check in the kernel": 6.0,
    "start on the default streams": 6.0,
    "start, a pair": 10.0,
    "start, tw.empty, then the launch": 10.0,
    "start, a torch tensor": 10.0,
    "start, the README's chain": 15.0,
}
"""Microseconds of the host's time on a GPU, at most, by medians."""
OVER_DRIVER = 3.0
"""Microseconds by which a launch and a wait may take longer than the driver's own."""
KEPT, DRIVER = "a partition that is kept", "cuLaunchKernel"

OPERATOR, DISPATCH = "a torch operator of ours", "a torch operator that does nothing"
OVER_DISPATCH = 8.0
"""Microseconds by which the first may take longer than the second."""


def forms(effort: Effort) -> Table:
    """A launch by how it is written, beside the same work by NumPy."""
    loop, on_host = Loop(), tw.default_device().host_visible
    others, absent = ({}, {}) if on_host else _others()
    try:
        found = measured({BASE: _numpy_add(), **_probes(loop), **others}, effort)
    finally:
        loop.close()
    base = found.pop(BASE)
    beside = {key: found.pop(key) for key in others}
    rows = {
        form: {"a launch": figures, BASE: base, **_beside(form, beside)}
        for form, figures in found.items()
    }
    return Table(
        "host_forms", "A launch by how it is written",
        f"A kernel of two tensors of {SMALL} elements, unless the row says otherwise, built, run"
        f" and waited for; `{BASE}` of as many elements beside it. Rows that begin with `start` are"
        " the host's time to build and start it; so are then those of others beside it.",
        "form", rows, goals=_goals(found) if on_host else _gpu_goals(found, rows), absent=absent,
    )  # fmt: skip


def _others() -> tuple[dict[str, Probe], dict[str, str]]:
    """Those who launch the same kernel on a GPU: each once waited for, and once started."""
    from ..gpu.launch.contestants import OF_MANY, OF_ONE
    from ..gpu.launch.tables import gathered, waited
    from ..gpu.launch.tables import started as put

    names = [name for name in OF_MANY if name in ("torch", "cuTile Python", "Triton", DRIVER)]
    of_two, absent = gathered({n: OF_ONE[n] for n in names if n in OF_ONE}, 2, 1)
    of_three, also_absent = gathered({n: OF_MANY[n] for n in names if n not in OF_ONE}, 3, 1)
    both = {**of_two, **of_three}
    probes = {f"{name}, waited for": waited(one) for name, one in both.items()}
    return {**probes, **{f"{name}, started": put(one) for name, one in both.items()}}, {
        **absent,
        **also_absent,
    }


def _beside(form: str, found: dict[str, Figures]) -> dict[str, Figures]:
    """What others take for what a form does: to start a launch, or to see it done."""
    ending = ", started" if form.startswith("start") else ", waited for"
    return {
        name.removesuffix(ending): figures
        for name, figures in found.items()
        if name.endswith(ending)
    }


def _gpu_goals(found: dict[str, Figures], rows: Mapping[str, Mapping[str, Figures]]) -> list[Goal]:
    goals = [
        Goal(f"us, {form}", found[form].median * 1e6, most)
        for form, most in GPU_GOALS.items()
        if form in found
    ]
    if DRIVER in rows[KEPT]:
        over = found[KEPT].median - rows[KEPT][DRIVER].median
        goals.append(Goal("us, a launch and a wait over the driver's", over * 1e6, OVER_DRIVER))
    return goals


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
        **_starting(),
        "into_future, result": repeated(_LAUNCHES[KEPT](lambda op: op.into_future().result())),
        "await": loop.probe(_LAUNCHES[KEPT](lambda op: op)),
        **_torch_probes(),
    }


def _starting() -> dict[str, Probe]:
    """Launches that are started; on a GPU, where a launch takes longer than its start, in all
    forms."""
    kept = _LAUNCHES[KEPT]
    found = {"start": started(kept(lambda op: op))}
    if tw.default_device().host_visible:
        return found
    for form, build in _LAUNCHES.items():
        if form != KEPT:
            found[f"start, {form}"] = started(build(lambda op: op))
    stream = tw.default_device().new_stream()
    found["start on the default streams"] = put(kept(lambda op: op.start()))
    found["start, a pair"] = put(_pair(lambda op: op.start_on(stream)))
    return found


def _torch_probes() -> dict[str, Probe]:
    """Those with tensors of PyTorch, where that is installed."""
    if not find_spec("torch"):
        return {}
    torch: Any = import_module("torch")
    if not tw.default_device().host_visible:
        return _torch_on_gpu(torch) if torch.cuda.is_available() else {}
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


def _torch_on_gpu(torch: Any) -> dict[str, Probe]:
    x, z = torch.from_numpy(random((SMALL,))).cuda(), output().partition_mut(SMALL)
    y = output().partition_mut(SMALL)
    return {
        "a torch tensor": repeated(lambda: kernels.sum2(z, x).sync()),
        "start, a torch tensor": started(lambda: kernels.sum2(y, x)),
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


def _pair(end: End) -> Callable[[], Any]:
    """A launch, and another one that reads what that wrote."""
    x, y, z = placed(random((SMALL,))), output(), output().partition_mut(SMALL)

    def both() -> None:
        end(kernels.sum2(y.partition_mut(SMALL), x))
        end(kernels.sum2(z, y))

    return both


_LAUNCHES: dict[str, Callable[[End], Callable[[], Any]]] = {
    KEPT: _kept,
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
