"""The object behind `@simt.kernel`, and the op that its calls give."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from ..backend.tileir.target import ARCHITECTURES, is_architecture
from ..base.config import current
from ..base.errors import ContextError
from ..base.shapes import Shape
from ..base.tracebacks import public
from ..devices.protocol import Device, LaunchConfig
from ..frontend.capture.annotations import capture
from ..frontend.capture.parameters import Parameter
from ..frontend.capture.sources import KernelSource
from ..ir.signature import Signature
from ..tensors.create import meta
from ..tensors.shape import ShapeLike
from .blocks import Asked, Contract, Threads, asked_for, block_of, chosen
from .calls import REQUESTS
from .code import Code
from .definition import Entry, locals_of_caller
from .form import Form, Request
from .grid import padded
from .kernel import Kernel
from .plain import PlainBinder
from .recent import Recent
from .slices import SliceBinder, lengths
from .watching import note
from .whole import WholeLaunch

R_co = TypeVar("R_co", covariant=True)

NOTHING_ASKED = Asked()
_INT = {int}
DEFAULT_ARCH = "sm_80"
"""The oldest there is PTX for, so that every GPU runs it."""


class SimtKernel(Kernel):
    """A captured SIMT kernel with its specializations."""

    def __init__(
        self, source: KernelSource, function: Callable[..., Any], contract: Contract
    ) -> None:
        super().__init__(source, function)
        self._binder = SliceBinder(source)
        self.plain = PlainBinder(source, self._binder, self._form)
        self.contract = contract
        self.configured: Recent[tuple[Any, ...], Request] = Recent(REQUESTS)
        """What launches asked that said `launch_config`, by what they asked before, and what they
        said."""
        self.gridded: tuple[Request, ShapeLike, Request] | None = None
        """What a launch asked before it said `grid`, the very tuple it said, and what it asked
        then: loops say the same again."""
        self._of_blocks: dict[tuple[int, Shape, int], Signature] = {}

    def target_on(self, device: Device) -> str:
        """Return the target; drivers compile PTX, so it may be older than the GPU."""
        return device.target if device.host_visible else current().target or device.target

    def threads(self, form: Form, request: Request) -> Threads:
        """Return the threads of a launch."""
        asked = request.threads or NOTHING_ASKED
        return chosen(self.name, self.contract, asked, lengths(form.args))

    def signature(self, form: Form, request: Request, rank: int) -> Signature:
        """Return the signature of a launch: that of its arguments, and the block."""
        known = super().signature(form, request, len(padded(())))
        asked = request.threads or NOTHING_ASKED
        key = (id(known), block_of(self.name, self.contract, asked), asked.shared_mem_bytes)
        found = self._of_blocks.get(key)
        if found is None:
            exact = self.contract.block is not None
            found = self._of_blocks[key] = replace(
                known, block=key[1], exact_block=exact, shared_bytes=key[2]
            )
        return found

    def cuda_signature(
        self,
        form: Form,
        request: Request,
        grid: Shape,
        addresses: Sequence[int],
    ) -> Signature:
        """Return the signature of a CUDA launch, with no more facts of memory than on the CPU."""
        return self.signature(form, request, len(grid))

    def _make_code(self, form: Form, device: Device, request: Request, *addresses: int) -> Code:
        """Compile; the code does not depend on the addresses."""
        grid = padded(self.threads(form, request).grid)
        note(self, form, request, grid, addresses)
        program = self._program(self.signature(form, request, len(grid)), device, request)
        # Devices run the last axis fastest, which is x here.
        return Code(self.name, program, form.args, tuple(reversed(grid)))


class SimtLaunch(WholeLaunch[R_co]):
    """A SIMT kernel with its arguments. Its result is the tuple of the very objects passed."""

    LISTED = "launch_config"

    _kernel: SimtKernel  # pyright: ignore[reportIncompatibleVariableOverride]

    def launch_config(
        self,
        config: LaunchConfig | None = None,
        /,
        *,
        grid: ShapeLike | None = None,
        block: ShapeLike | None = None,
        shared_mem_bytes: int = 0,
    ) -> Self:
        """Set the number of blocks, and of threads of each, along x, y and z.

        What is not given follows from the kernel's contract and from the tensors it writes.
        """
        if config is not None:
            grid, block = config.grid_dim, config.block_dim
            shared_mem_bytes = config.shared_mem_bytes

        said = (self._request, grid, block, shared_mem_bytes)
        plain = _is_plain(grid, block, (shared_mem_bytes,))
        known = self._kernel.configured.get(said) if plain else None
        if known is None or not self._was_asked(known):
            return self._asking(lambda: self._configured(*said))
        self._request = known
        return self

    def _configured(
        self, before: Request, grid: ShapeLike | None, block: ShapeLike | None, shared: int
    ) -> Request:
        """Return the request with this configuration added; raise if it is invalid."""
        request = before._replace(threads=asked_for(grid, block, shared))
        if not self._was_asked(request) and self._bound is not None:
            self._kernel.threads(self._bound.form, request)
        if _is_plain(grid, block, (shared,)):
            self._kernel.configured.keep((before, grid, block, shared), request)
        return request

    def _was_asked(self, request: Request) -> bool:
        """Return whether launches on such tensors have passed with this request before."""
        return self._held is not None and self._held[-1].asked(request)[0] is not None

    def grid(self, grid: ShapeLike) -> Self:
        """Set the number of blocks, as `launch_config(grid=...)`."""
        last, held, before = self._kernel.gridded, self._held, self._request
        if last is not None and held is not None and last[0] is before and last[1] is grid:
            latest, code, _ = held[-1].latest
            if latest is last[2] and code is not None:
                self._request = latest
                return self
        self.launch_config(grid=grid)
        if _is_plain(grid):
            self._kernel.gridded = before, grid, self._request
        return self

    def const_grid(self, grid: ShapeLike) -> NoReturn:
        """Raise: SIMT kernels are not compiled for one grid."""
        raise TypeError("a SIMT kernel has no const_grid(); use launch_config(grid=...)")


def _is_plain(*shapes: ShapeLike | None) -> bool:
    """Return whether all shapes consist of ints, so that equality identifies them."""
    return all(
        shape is None or (type(shape) is tuple and {*map(type, shape)} <= _INT) for shape in shapes
    )


class SimtEntry(Entry):
    """A SIMT kernel. Calling it with its arguments gives the op that runs it.

    Arguments are values or ops that give them, by position or by keyword; constants go by keyword.
    """

    launches = SimtLaunch
    kernel: SimtKernel  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(
        self,
        function: Callable[..., Any],
        contract: Contract,
        *,
        unsafe: bool = False,
        source: str | None = None,
        frame_locals: dict[str, Any] | None = None,
    ) -> None:
        captured = capture(
            function, unsafe=unsafe, source=source, frame_locals=frame_locals, dialect="simt"
        )
        self._adopt(SimtKernel(captured, function, contract), function)

    def ptx(self, arch: str | None = None, *args: Any, **constants: Any) -> str:
        """Return the kernel's PTX for an architecture: that of TILEWRIGHT_TARGET, or sm_80, by
        default.

        Needs no GPU and no arguments; `args` are needed where annotations leave a type open.
        """
        given = args
        if not (args or any(p.name in constants for p in self.source.parameters)):
            given = tuple(_stand_in(self.source.name, p) for p in self.source.parameters)
        target = arch or current().target or DEFAULT_ARCH
        if not is_architecture(target):
            raise ContextError(
                f"there is no PTX of `{self.source.name}` for {target!r}",
                expected=", ".join(ARCHITECTURES),
                got=repr(target),
            )
        code = self.compile_for(target, *given, **constants).code
        assert isinstance(code, bytes), "PTX is text"
        return code.decode()

    if not TYPE_CHECKING:

        def __getitem__(self, grid: object) -> NoReturn:
            raise TypeError(
                "kernels are not indexed by a grid: the outputs define the number of threads; to"
                f" choose it, use {self.kernel.name}(...).launch_config(grid=..., block=...)"
            )


def _stand_in(kernel: str, p: Parameter) -> Any:
    """Return a placeholder to compile for instead of an argument, if its type is known."""
    if p.dtype is None or isinstance(p.dtype, str):
        raise TypeError(
            f"the type of `{p.name}` of `{kernel}` does not follow from its annotation; pass"
            " arguments to compile for, tw.meta(...) for tensors"
        )
    if p.kind == "scalar":
        return p.dtype.is_bool or (1.0 if p.dtype.is_float else 1)
    tensor = meta((1,), p.dtype)
    return {
        "output": tensor.borrow_mut, "tensor": lambda: tensor, "pointer": tensor.device_pointer
    }[p.kind]()  # fmt: skip


def make_kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    domain: int = 1,
    block: ShapeLike | None = None,
    unsafe: bool = False,
    source: str | None = None,
) -> Any:
    """Turn a function into a SIMT kernel: `@simt.kernel`, or `@simt.kernel(domain=2)`."""
    if function is None:
        return functools.partial(
            public(make_kernel), domain=domain, block=block, unsafe=unsafe, source=source
        )
    names = locals_of_caller()
    contract = Contract.of(domain, block)
    return SimtEntry(function, contract, unsafe=unsafe, source=source, frame_locals=names)
