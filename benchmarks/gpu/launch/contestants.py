"""Who launches tiny kernels, each with arguments that are ready and a stream of its own."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

import tilewright as tw

from ... import peers
from ...case import Array, NotAvailable
from ...host import kernels
from ...host.work import SMALL, chain, cut, output
from ..case import CUTILE, OURS, TORCH, TRITON, Tensor
from ..ours import direct

CHAINED, PREPARED = f"{OURS}, chained", f"{OURS}, graph"
DRIVER, TORCH_GRAPH = "cuLaunchKernel", f"{TORCH}, graph"
CUTILE_GRAPH = f"{CUTILE} in {TORCH}'s graph"

Inputs: TypeAlias = Sequence[Array]


@dataclass(frozen=True, slots=True)
class Launcher:
    """One who takes part, with all that can be done beforehand done."""

    launch: Callable[[], object]
    """Puts the work on a stream."""
    wait: Callable[[], object]
    """Waits for all that was put there."""
    answer: Callable[[], Array]
    waited: Callable[[], object] | None = None
    """Both, where there is a call that does both."""
    keeps: object = None
    """What must not be freed while it launches."""

    def run(self) -> None:
        """Put the work on the stream and wait for it."""
        if self.waited is not None:
            self.waited()
        else:
            self.launch()
            self.wait()


Maker: TypeAlias = Callable[[Inputs, int], Launcher]
"""Makes one that launches a kernel with these inputs so many times."""


def expected(inputs: Inputs) -> Array:
    """What all of them compute."""
    return np.sum(inputs, axis=0) if inputs else np.ones(SMALL, np.float32)


def qualified(make: Maker, inputs: Inputs, length: int) -> Launcher:
    """One whose answer was found right; the one that was tried is not used again."""
    tried = make(inputs, length)
    tried.run()
    error = float(np.abs(tried.answer() - expected(inputs)).max())
    if not error <= 1e-5 * (1 + len(inputs)):
        raise ValueError(f"its error is {error:.3g}")
    return make(inputs, length)


def _times(length: int, work: Callable[[], object]) -> Callable[[], object]:
    """A function called so many times; itself where that is once, for a loop takes time, too."""

    def repeat() -> None:
        for _ in range(length):
            work()

    return work if length == 1 else repeat


# --- ours ----------------------------------------------------------------------------------------


def ours(inputs: Inputs, length: int) -> Launcher:
    """`kernel(args).start_on(stream)`; waiting for one is `kernel(args).sync_on(stream)`."""
    kernel, given = kernels.SUMS[1 + len(inputs)], cut(output(), inputs)
    stream = tw.default_device().new_stream()
    return Launcher(
        _times(length, lambda: kernel(*given).start_on(stream)),
        stream.synchronize,
        lambda: given[0].unpartition().to_numpy(),
        (lambda: kernel(*given).sync_on(stream)) if length == 1 else None,
    )


def chained(inputs: Inputs, length: int) -> Launcher:
    """`kernel(args).then(kernel)...`, built and started each time."""
    kernel, given = kernels.SUMS[1 + len(inputs)], cut(output(), inputs)
    stream = tw.default_device().new_stream()
    return Launcher(
        lambda: chain(kernel, given, length).start_on(stream),
        stream.synchronize,
        lambda: given[0].unpartition().to_numpy(),
        lambda: chain(kernel, given, length).sync_on(stream),
    )


def prepared(inputs: Inputs, length: int) -> Launcher:
    """`graph.launch().start_on(stream)`, the graph of one node or of a chain made beforehand."""
    z, stream = output(), tw.default_device().new_stream()
    op = chain(kernels.SUMS[1 + len(inputs)], cut(z, inputs), length)
    graph = op.graph_on(stream)
    return Launcher(
        lambda: graph.launch().start_on(stream),
        stream.synchronize,
        z.to_numpy,
        lambda: graph.launch().sync_on(stream),
    )


# --- others, on memory and a stream of torch ------------------------------------------------------


def _placed(inputs: Inputs) -> list[Tensor]:
    """An output that is wrong until it is written, and the inputs."""
    lib = peers.torch()
    z = lib.full((SMALL,), float("nan"), dtype=lib.float32, device="cuda")
    return [z, *(lib.from_numpy(array).cuda() for array in inputs)]


def _launcher(
    launch: Callable[[], object], tensors: Sequence[Tensor], keeps: object = None
) -> Launcher:
    """Whoever writes the first of the tensors."""
    wait = peers.torch().cuda.current_stream().synchronize
    return Launcher(launch, wait, lambda: np.asarray(tensors[0].cpu().numpy()), None, keeps)


def _language(module: str, inputs: Inputs, length: int) -> Launcher:
    """Another kernel language's own launch."""
    tensors = _placed(inputs)
    launch = found_module(module).launch(peers.torch().cuda.current_stream(), *tensors)
    return _launcher(_times(length, launch), tensors)


def found_module(module: str) -> Any:
    """A module of kernels in another language, if that is installed."""
    try:
        return importlib.import_module(f".{module}", __package__)
    except ImportError as error:
        raise NotAvailable(str(error)) from None


def _driver(inputs: Inputs, length: int) -> Launcher:
    """The driver's call for our kernel by cuda.bindings, its parameters laid out beforehand."""
    tensors = _placed(inputs)
    ready = direct(kernels.SUMS[len(tensors)], tensors[0], (SMALL,), *tensors[1:])
    launch = ready.call_on(peers.torch().cuda.current_stream().cuda_stream)
    return _launcher(_times(length, launch), tensors, ready)


def _adding(tensors: Sequence[Tensor]) -> Callable[[], object]:
    """Torch's own sum, of two inputs."""
    z, x, y = tensors
    return partial(peers.torch().add, x, y, out=z)


def _torch(inputs: Inputs, length: int) -> Launcher:
    tensors = _placed(inputs)
    return _launcher(_times(length, _adding(tensors)), tensors)


def _torch_graph(inputs: Inputs, length: int) -> Launcher:
    tensors = _placed(inputs)
    return _launcher(_captured(lambda _: _adding(tensors), length), tensors)


def _cutile_graph(inputs: Inputs, length: int) -> Launcher:
    """Their kernels in torch's graph: they have none of their own."""
    tensors = _placed(inputs)
    module = found_module("cutile_kernels")
    return _launcher(_captured(lambda stream: module.launch(stream, *tensors), length), tensors)


def _captured(make: Callable[[Any], Callable[[], object]], length: int) -> Callable[[], object]:
    """The replay of a graph of so many launches; they are made for the stream that records."""
    lib = peers.torch()
    make(lib.cuda.current_stream())()  # loads and compiles, which a capture must not
    lib.cuda.synchronize()
    graph = lib.cuda.CUDAGraph()
    # What other threads ask the driver meanwhile is no part of it.
    with lib.cuda.graph(graph, capture_error_mode="thread_local"):
        launch = make(lib.cuda.current_stream())
        for _ in range(length):
            launch()
    replay: Callable[[], object] = graph.replay
    return replay


OF_ONE: dict[str, Maker] = {
    OURS: ours,
    PREPARED: prepared,
    CUTILE: partial(_language, "cutile_kernels"),
    TRITON: partial(_language, "triton_kernels"),
    DRIVER: _driver,
}
"""Those who launch a kernel with any number of tensors."""

OF_MANY: dict[str, Maker] = {
    OURS: ours,
    CHAINED: chained,
    PREPARED: prepared,
    CUTILE: partial(_language, "cutile_kernels"),
    CUTILE_GRAPH: _cutile_graph,
    TRITON: partial(_language, "triton_kernels"),
    DRIVER: _driver,
    TORCH: _torch,
    TORCH_GRAPH: _torch_graph,
}
"""Those who launch a kernel that adds two tensors many times."""
