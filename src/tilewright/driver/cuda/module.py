"""Code on a CUDA device: cubins, fatbins and PTX, and their kernels."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ...base.errors import ContextError, DriverError
from ..protocol import LaunchConfig, Stream
from .context import Context
from .record import Record
from .results import NO_BINARY_FOR_GPU, NOT_FOUND, CallError
from .stream import CudaStream

ELF, FATBIN = b"\x7fELF", b"\x50\xed\x55\xba"
CUDA_MACHINE = 190
"""The number of NVIDIA GPUs in an ELF header."""
ELF_HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
NO_BYTES = 8
"""The type of sections that take no room in the file."""
COMMON_SHARED = 48 << 10
"""Bytes of shared memory that every kernel may be launched with."""


class CudaModule:
    """Code loaded on a device; unloaded some time after the last user is gone."""

    __slots__ = ("_context", "_functions", "_handle")

    def __init__(self, context: Context, code: bytes) -> None:
        self._context = context
        self._handle = 0
        self._functions: dict[str, CudaFunction] = {}
        context.tidy()
        with context.loading:
            self._handle = _load(context, loadable(code))

    def function(self, name: str) -> int:
        """The driver's handle of a kernel."""
        context = self._context
        try:
            with context.loading:  # this is where the driver really loads a kernel
                return context.call(context.calls.find_function, self._handle, name)
        except CallError as error:
            if error.status != NOT_FOUND:
                raise
        names = context.call(context.calls.kernel_names, self._handle)
        raise DriverError(
            f"the module has no kernel `{name}`",
            expected=", ".join(sorted(names)) or "none: the module has no kernels",
            got=name,
            hint='kernels of CUDA C++ keep their names when declared extern "C"',
        )

    def load_function(self, name: str) -> CudaFunction:
        """The kernel of that name."""
        known = self._functions.get(name)
        return known or CudaFunction(self, name, self.function(name), self._context)

    def __del__(self) -> None:
        if self._handle:
            self._context.leave(self._context.calls.unload_module, self._handle, 0)


def _load(context: Context, code: bytes) -> int:
    try:
        return context.call(context.calls.load_module, code)
    except CallError as error:
        if error.status != NO_BINARY_FOR_GPU:
            raise
    major, minor = context.calls.capability(context.ordinal)
    raise DriverError(
        "the code was compiled for another architecture",
        expected=f"code for sm_{major}{minor}, which {context.name} is",
        hint=f"compile it for this one: --arch sm_{major}{minor}",
    )


class CudaFunction:
    """A kernel; its parameters are numbers and addresses of at most 8 bytes."""

    __slots__ = ("_context", "_handle", "_module", "_shared", "name", "parameter_sizes")

    def __init__(self, module: CudaModule, name: str, handle: int, context: Context) -> None:
        self.name = name
        self._module = module  # keeps the code
        self._handle, self._context = handle, context
        self._shared = COMMON_SHARED
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
        """Put a launch on a stream of its device."""
        context = self._context
        if not isinstance(stream, CudaStream) or stream.context is not context:
            raise ContextError(
                f"`{self.name}` cannot be launched there",
                expected=f"a stream of {context.name}",
                got=repr(stream),
            )
        sizes = self.parameter_sizes
        if sizes is not None and len(slots) != len(sizes):
            raise DriverError(
                f"`{self.name}` cannot be launched with these arguments",
                expected=f"{len(sizes)} arguments",
                got=str(len(slots)),
            )
        self._allow_shared(config.shared_mem_bytes)
        grid, block = _three(config.grid_dim), _three(config.block_dim)
        words = [slot - (1 << 64) if slot >> 63 == 1 else slot for slot in slots]
        record = Record(context.handle, self._handle, grid, block, config.shared_mem_bytes, words)
        stream.launch(record, f"`{self.name}`", (self, keep))
        return CudaFunctionRun(context)

    def _allow_shared(self, nbytes: int) -> None:
        """More than every kernel may have must be asked for; the driver knows how much there is."""
        if nbytes > self._shared:
            self._context.call(self._context.calls.allow_shared, self._handle, nbytes)
            self._shared = nbytes

    def __repr__(self) -> str:
        return f"Function({self.name!r})"


class CudaFunctionRun:
    """A launch of raw code."""

    __slots__ = ("_context",)

    def __init__(self, context: Context) -> None:
        self._context = context

    def problem(self) -> DriverError | None:
        """What went wrong, once the stream has passed it."""
        return self._context.lost


def _three(dims: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*dims, 1, 1, 1)[:3]
    if len(dims) > 3 or min(x, y, z) < 0 or max(x, y, z) >= 1 << 31:
        raise DriverError(
            "code cannot be launched over this many blocks or threads",
            expected="at most three axes",
            got=str(tuple(dims)),
        )
    return x, y, z


def loadable(code: bytes) -> bytes:
    """Code as the driver takes it. It is not told how long code is, so that is looked at here."""
    if code.startswith(FATBIN):
        return code
    if code.startswith(ELF):
        if not _is_whole(code):
            raise _unloadable(code, "a cubin, whole and for a GPU")
        return code
    if b".version" not in code[:4096] or b".target" not in code:
        raise _unloadable(code, "a cubin, a fatbin or PTX")
    return code if code.endswith(b"\0") else code + b"\0"


def _unloadable(code: bytes, expected: str) -> DriverError:
    return DriverError(
        "this code cannot be loaded on a CUDA device",
        expected=expected,
        got=f"{len(code)} bytes that begin with {code[:8]!r}",
    )


def _is_whole(code: bytes) -> bool:
    """Whether an ELF file is for a GPU, and all its tables and sections lie within it."""
    if len(code) < ELF_HEADER.size or code[4] != 2:
        return False
    fields = ELF_HEADER.unpack_from(code)
    machine, segments, sections = fields[1], fields[4], fields[5]
    segment_size, segment_count, section_size, section_count = fields[8:12]
    if machine != CUDA_MACHINE or section_size != SECTION.size:
        return False
    if segments + segment_size * segment_count > len(code):
        return False
    if sections + section_size * section_count > len(code):
        return False
    places = (SECTION.unpack_from(code, sections + i * section_size) for i in range(section_count))
    return all(kind == NO_BYTES or at + size <= len(code) for _, kind, _, _, at, size, *_ in places)
