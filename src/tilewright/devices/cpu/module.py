"""Raw native code on the CPU: object files whose functions follow base.cpu_abi."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.errors import ContextError, DriverError
from ..protocol import LaunchConfig, Stream
from .native import NativeFunction, check_format, load
from .record import Record
from .run import Launcher
from .stream import CpuStream


def check_object(code: bytes) -> None:
    """Raise for an object file that is not whole; of what it does nothing is known."""
    from ...base.elf import MAGIC, InvalidElfError, read_elf

    check_format(code)
    if code.startswith(MAGIC):
        try:
            read_elf(code)
        except InvalidElfError as error:
            raise DriverError(
                "native code cannot be loaded: the object file is damaged",
                got=str(error),
                hint="build it again",
            ) from None


class CpuModule:
    """An object file for this machine."""

    __slots__ = ("_code", "_functions")

    def __init__(self, code: bytes) -> None:
        check_format(code)
        self._code = code
        self._functions: dict[str, CpuFunction] = {}

    def load_function(self, name: str) -> CpuFunction:
        """Return the function of that name, as `base.cpu_abi` has kernels."""
        known = self._functions.get(name)
        if known is None:
            known = self._functions[name] = CpuFunction(load(self._code, name))
        return known


class CpuFunction:
    """A native function that runs blocks of a grid."""

    __slots__ = ("_native",)

    def __init__(self, native: NativeFunction) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """Its symbol."""
        return self._native.symbol

    @property
    def parameter_sizes(self) -> None:
        """Not known: object files do not say."""
        return

    def put_on(
        self,
        stream: Stream,
        config: LaunchConfig,
        slots: Sequence[int],
        *,
        inline: bool = False,
        keep: object = None,
    ) -> CpuFunctionRun:
        """Enqueue a launch on a CPU stream; each thread has `shared_mem_bytes` of scratch."""
        if not isinstance(stream, CpuStream):
            raise ContextError(
                f"`{self.name}` cannot be launched there",
                expected="a CPU stream",
                got=repr(stream),
            )
        if any(n != 1 for n in config.block_dim):
            raise DriverError(
                f"`{self.name}` cannot be launched",
                expected="blocks of one thread, as the CPU has them",
                got=f"blocks of {config.block_dim}",
            )
        launcher = Launcher(self._native, slots, config.grid_dim, config.shared_mem_bytes, 0)
        record = launcher.new_record()
        stream.launch(record, inline=inline, keep=(launcher, keep))
        return CpuFunctionRun(launcher, record)

    def __repr__(self) -> str:
        return f"Function({self.name!r})"


class CpuFunctionRun:
    """A launch of raw code."""

    __slots__ = ("_launcher", "_record")

    def __init__(self, launcher: Launcher, record: Record) -> None:
        self._launcher, self._record = launcher, record

    def problem(self) -> DriverError | None:
        """Return the failure of the run, once the stream has passed it."""
        report = self._launcher.report(self._record)
        if report.failure is None:
            return report.problem
        words = report.failure
        return DriverError(
            f"raw code reported a failure at its site {words.site}",
            got=f"block {words.block}: index {words.index}, extent {words.extent}",
        )
