"""Code on a CUDA device: cubins, fatbins and PTX, and their kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeGuard

from ...base.errors import ContextError, DriverError
from ...base.shapes import size
from ..protocol import LaunchConfig, RefusedCodeError, Stream
from .context import Context
from .record import Record
from .replay import Node
from .results import NOT_FOUND, CallError
from .stream import CudaStream

Three: TypeAlias = tuple[int, int, int]
MOST_BLOCKS = ((1 << 31) - 1, 65535, 65535)
"""Along x, y and z."""
LEAST_LIMIT = min(MOST_BLOCKS)
MOST_DEEP = 64
"""Threads of a block along z; along the others as many as in all."""
COMMON_SHARED = 48 << 10
"""Bytes of shared memory that every kernel may be launched with."""


class CudaModule:
    """Code loaded on a device; unloaded some time after the last user is gone.

    Unless it is `trusted`, it is read first, and the driver loads it in another process before it
    does so in this one.
    """

    __slots__ = ("_context", "_functions", "_handle")

    def __init__(self, context: Context, code: bytes, *, trusted: bool = False) -> None:
        from .loading import load

        self._context = context
        self._handle = 0
        self._functions: dict[str, CudaFunction] = {}
        context.tidy()
        self._handle = load(context, code, trusted)

    def function(self, name: str, shared_bytes: int = 0) -> int:
        """Return the driver's handle of a kernel with `shared_bytes` of dynamic shared memory."""
        context = self._context
        try:
            with context.loading:  # this is where the driver really loads a kernel
                found = context.call(context.calls.find_function, self._handle, name)
                needed = context.call(context.calls.shared_bytes, found)
                _check_shared(name, context, needed, shared_bytes)
                if needed + shared_bytes > COMMON_SHARED:
                    context.call(context.calls.allow_shared, found, shared_bytes)
                return found
        except CallError as error:
            if error.status != NOT_FOUND:
                raise
        names = context.call(context.calls.kernel_names, self._handle)
        raise RefusedCodeError(
            f"the module has no kernel `{name}`",
            expected=", ".join(sorted(names)) or "none: the module has no kernels",
            got=name,
            hint='CUDA C++ kernels keep their names if declared extern "C"',
        )

    def load_function(self, name: str) -> CudaFunction:
        """Return the kernel of that name."""
        known = self._functions.get(name)
        return known or CudaFunction(self, name, self.function(name), self._context)

    def __del__(self) -> None:
        if self._handle:
            self._context.leave(self._context.calls.unload_module, self._handle, 0)


def _check_shared(kernel: str, context: Context, needed: int, asked: int = 0) -> None:
    """Raise if blocks need more shared memory than the device has for one."""
    most = context.calls.most_shared(context.ordinal)
    if needed + asked > most:
        more = f", and {asked} that the launch asks for" if asked else ""
        raise DriverError(
            f"the blocks of `{kernel}` need more shared memory than {context.name} has",
            expected=f"at most {most} bytes",
            got=f"{needed} bytes{more}",
            hint="use smaller tiles or fewer of them at once; for a raw kernel, ask for less",
        )


class CudaFunction:
    """A kernel; its parameters are numbers and addresses of at most 8 bytes."""

    __slots__ = (
        "_handle", "_module", "_needed", "_shared", "_threads", "context", "name",
        "parameter_sizes",
    )  # fmt: skip

    def __init__(self, module: object, name: str, handle: int, context: Context) -> None:
        self.name = name
        self._module = module  # keeps the code
        self._handle, self.context = handle, context
        self._shared = COMMON_SHARED
        self._needed = context.call(context.calls.shared_bytes, handle)
        self._threads = context.call(context.calls.most_threads, handle)
        self.parameter_sizes = context.call(context.calls.parameter_sizes, handle)

    def put_on(
        self,
        stream: Stream,
        config: LaunchConfig,
        slots: Sequence[int],
        *,
        inline: bool = False,
        keep: object = None,
    ) -> CudaFunctionRun:
        """Enqueue a launch on a stream of its device."""
        self.launch(stream, self.record(config, slots), keep)
        return CudaFunctionRun(self.context)

    def runs_on(self, stream: Stream) -> TypeGuard[CudaStream]:
        """Return whether it can be launched on a stream: one of the device that holds it."""
        return isinstance(stream, CudaStream) and stream.context is self.context

    def launch(self, stream: Stream, record: Record, keep: object) -> Node | None:
        """Launch what a record says; while capturing it becomes a node, which is given."""
        if not self.runs_on(stream):
            raise ContextError(
                f"`{self.name}` cannot be launched there",
                expected=f"a stream of {self.context.name}",
                got=repr(stream),
                device_id=self.context.ordinal,
            )
        return stream.launch(record, f"`{self.name}`", (self, keep))

    def record(self, config: LaunchConfig, slots: Sequence[int]) -> Record:
        """Return a launch in the driver's format, if it can be expressed."""
        words = self.words(slots)
        self._allow_shared(config.shared_mem_bytes)
        grid, block = self._dims(config)
        shared = config.shared_mem_bytes
        return Record(self.context.handle, self._handle, grid, block, shared, words)

    def words(self, slots: Sequence[int]) -> list[int]:
        """Return the arguments of a launch as words of its record; check their number."""
        sizes = self.parameter_sizes
        if sizes is not None and len(slots) != len(sizes):
            raise DriverError(
                f"`{self.name}` cannot be launched with these arguments",
                expected=f"{len(sizes)} arguments",
                got=str(len(slots)),
            )
        return [slot - (1 << 64) if slot >> 63 == 1 else slot for slot in slots]

    def _allow_shared(self, nbytes: int) -> None:
        """Allow launches with more shared memory than the default limit."""
        context = self.context
        calls, needed = context.calls, self._needed
        if needed + nbytes > self._shared:
            _check_shared(self.name, context, needed, nbytes)
            context.call(calls.allow_shared, self._handle, nbytes)
            self._shared = needed + nbytes

    def _dims(self, config: LaunchConfig) -> tuple[Three, Three]:
        """Return the blocks, and the threads of each, along x, y and z."""
        grid, block = _three(config.grid_dim), _three(config.block_dim)
        if max(grid) > LEAST_LIMIT and any(n > m for n, m in zip(grid, MOST_BLOCKS, strict=True)):
            raise _too_large(self.name, "blocks", f"at most {MOST_BLOCKS} along x, y and z", grid)
        if size(block) > self._threads or block[2] > MOST_DEEP:
            most = f"at most {self._threads} in a block, {MOST_DEEP} of them along z"
            raise _too_large(self.name, "threads", most, block)
        return grid, block

    def __repr__(self) -> str:
        return f"Function({self.name!r})"


class CudaFunctionRun:
    """A launch of raw code."""

    __slots__ = ("_context",)

    def __init__(self, context: Context) -> None:
        self._context = context

    def problem(self) -> DriverError | None:
        """Return the failure of the run, once the stream has passed it."""
        return self._context.lost


def _three(dims: Sequence[int]) -> Three:
    x, y, z = (*dims, 1, 1, 1)[:3]
    if len(dims) > 3 or min(x, y, z) < 1:
        raise DriverError(
            "code cannot be launched over this many blocks or threads",
            expected="at most three axes, at least 1 along each",
            got=str(tuple(dims)),
        )
    return x, y, z


def _too_large(kernel: str, what: str, expected: str, got: Three) -> DriverError:
    return DriverError(
        f"`{kernel}` cannot be launched with so many {what}",
        expected=expected,
        got=str(got),
        hint="let each block or thread do more of the work",
    )
