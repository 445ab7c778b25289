"""What a row of the corpus is made of: shapes, data, and the ways to do the work."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..case import NotAvailable
from .cpu_shapes import cpu_shapes

PLAIN, TUNED = "ours, plain", "ours, tuned"
TRITON, COMPILED, TORCH, NUMBA, COPY = "triton", "torch.compile", "torch", "numba", "copy"

Tensor: TypeAlias = Any
"""A tensor of torch, which is not installed where types are checked."""
Setting: TypeAlias = Mapping[str, Any]
Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A launch of a kernel of ours, before it runs: it may also be compiled only."""

    kernel: Any
    args: tuple[Any, ...]
    constants: Mapping[str, Any] = field(default_factory=dict[str, Any])
    blocks: tuple[int, ...] | None = None
    """The grid, where no output defines it."""
    threads: int | None = None
    """The blocks of a kernel of threads."""

    def op(self) -> Any:
        """Build the launch."""
        launch = self.kernel(*self.args, **self.constants)
        if self.threads is not None:
            return launch.launch_config(grid=self.threads)
        return launch if self.blocks is None else launch.grid(self.blocks)


@dataclass(frozen=True, slots=True)
class Fill:
    """A tensor that is overwritten with one number before kernels add to it."""

    tensor: Any
    value: float

    def op(self) -> Any:
        """Build the launch."""
        return importlib.import_module("tilewright").fill(self.tensor, self.value)


def call(kernel: Any, *args: Any, **constants: Any) -> Call:
    """Describe `kernel(*args, **constants)`."""
    return Call(kernel, args, constants)


@dataclass(frozen=True, slots=True)
class Data:
    """The arguments of a row in memory, and what they cost to read and to write."""

    inputs: tuple[Any, ...]
    """Tensors of torch, and numbers."""
    outs: tuple[Tensor, ...]
    """Memory for the results; before them nothing, after them what `scratch` says."""
    scratch: tuple[Tensor, ...] = ()
    """Memory for what a kernel leaves for the next one."""
    moved: float = 0.0
    """Bytes, if memory limits the work."""
    flops: float = 0.0
    """Operations, if arithmetic does."""
    ours: Sequence[Setting] = ({},)
    """At most three tile shapes that a user would try: the best counts as `plain`."""
    triton: Sequence[Setting] = ({},)
    """Four or five settings of the kernel in Triton."""

    def combinations(self) -> list[Setting]:
        """Return the space in which the tuner searches: all combinations of these values."""
        columns = {
            name: list(dict.fromkeys(each[name] for each in self.ours)) for name in self.ours[0]
        }
        return [
            dict(zip(columns, row, strict=True)) for row in itertools.product(*columns.values())
        ]


@dataclass(frozen=True, slots=True)
class Row:
    """A kernel of the corpus, in some shapes and element types."""

    name: str
    family: str
    shapes: Sequence[Shape]
    """Three, the second of which is the usual one, and one of which is no power of two."""
    dtypes: Sequence[str]
    small: Shape
    """A shape for tests, with boundary tiles."""
    make: Callable[[Shape, str, str], Data]
    """Makes the data of a shape, of an element type, on a device of torch."""
    eager: Callable[..., Any]
    """The same work in torch: takes the inputs, returns one result or several."""
    tolerance: float = 1e-2
    """The largest error in 16-bit types, in parts of the largest number of a result."""
    exact: float = 2e-5
    """The same in f32."""
    wide: bool = True
    """Whether the expected results are those of the inputs converted to f64, or f32 on a GPU."""
    check: Callable[[Sequence[Tensor], Sequence[Any]], float] | None = None
    """Compares results in another way: returns the error, from results and inputs."""

    @property
    def held_out(self) -> bool:
        """Whether it was set aside: by its name alone, before anything was measured."""
        return zlib.crc32(self.name.encode()) % 3 == 0

    def launches(self, *args: Any, **setting: Any) -> Iterable[Call | Fill]:
        """Our host program: the launches that do the work, each built when those before ran."""
        module = importlib.import_module(f".ours.{self.family}", __package__)
        made: Iterable[Call | Fill] = getattr(module, self.name)(*args, **setting)
        return made

    def in_triton(self) -> Callable[..., None]:
        """The host program in Triton."""
        return self._peer("triton")

    def in_numba(self) -> Callable[..., None]:
        """The loops that numba compiles, over NumPy arrays: outputs and inputs."""
        return self._peer("numba")

    def _peer(self, folder: str) -> Callable[..., None]:
        name = f"{__package__}.{folder}.{self.family}"
        module = None
        if importlib.util.find_spec(name) is not None:
            try:
                module = importlib.import_module(name)
            except ImportError as error:
                raise NotAvailable(str(error)) from None
        found: Callable[..., None] | None = getattr(module, self.name, None)
        if found is None:
            raise NotAvailable(f"not written in {folder}")
        return found

    def usual(self, device: str) -> tuple[Shape, str]:
        """The shape and the type that stand for the row on a device."""
        return next(iter(self.cases(device)))

    def cases(self, device: str) -> Iterator[tuple[Shape, str]]:
        """The shapes and types in which the row runs on a device, the usual ones first."""
        if device == "cpu":
            shapes, dtypes = cpu_shapes(self.name, self.family), self._cpu_dtypes()
        else:
            usual = self.shapes[1]
            shapes = [usual, *(shape for shape in self.shapes if shape != usual)]
            dtypes = self.dtypes
        yield from itertools.product(shapes, dtypes)

    def _cpu_dtypes(self) -> Sequence[str]:
        """Programs on CPUs compute in f32, whatever they would take on a GPU."""
        if not set(self.dtypes) & {"bfloat16", "float16", "float32"}:
            return self.dtypes
        return ["float32", "bfloat16"]


def settings(**values: Sequence[Any]) -> list[dict[str, Any]]:
    """Settings from columns: the first ones of all, the second ones, and so on."""
    names = list(values)
    return [dict(zip(names, row, strict=True)) for row in zip(*values.values(), strict=True)]
