"""LLVM text to PTX, with libdevice where its functions satisfy our error bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from ...base.config import current, toolkit_directory
from ...base.errors import Code, CompileError, InternalError
from ...base.files import files_in_wheel
from ...base.llvm import llvm
from ...base.shield import llvm_lock, made_once, shielded
from ..llvm.object import run_default_passes, run_passes

# -------------------------------------------------------------------------------------------------
# libdevice, NVIDIA's math functions as bitcode: its location, the functions used, linking.
#
# It is used where its error is within our bounds; otherwise our own functions are, as on the CPU.

NAME = "libdevice.10.bc"
WHEELS = ("nvidia-nvvm", "nvidia-cuda-nvcc")
FOLDER = Path("nvvm", "libdevice")
SYSTEM = Path("/usr/local/cuda")
OFF = "off"
MAGIC = b"BC\xc0\xde"
PREFIX = "__nv_"

IN_F64 = (
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "exp2", "log", "log1p", "log2",
    "rsqrt", "erf", "pow", "atan2",
)  # fmt: skip
IN_F32 = (
    "sin", "cos", "tanh", "exp", "expm1", "log", "log1p", "log2", "rsqrt", "erf", "atan2",
)  # fmt: skip
"""Those within 2 ulp. Over all floats, on an H200: exp 1.94, tanh 1.82, rsqrt 1.52, cos 1.52,
sin 1.50, log2 0.92, log 0.87; but tan 3.10, sinh 2.94, exp2 2.39, cosh 2.34. Over 2^36 pairs: atan2
1.87, but pow 2.38. Over every 64th float, computed on a host: erf 1.53 (with powers of two that are
2 ulp off), expm1 1.34, log1p 0.88."""
LINKED: dict[tuple[str, str], str] = {
    **{(name, "f64"): f"@{PREFIX}{name}" for name in IN_F64},
    **{(name, "f32"): f"@{PREFIX}{name}f" for name in IN_F32},
}
"""The symbol of each function that is used, by name and dtype."""


@dataclass(frozen=True, slots=True)
class Libdevice:
    """A libdevice that was found; `digest` is of its bytes."""

    path: str
    digest: str


def find_libdevice() -> Libdevice | None:
    """Return the libdevice to use; None if it is missing or switched off."""
    asked = current().libdevice
    if asked == OFF:
        return None
    if asked:
        path = Path(asked).expanduser()
        if not path.is_file():
            raise _unusable(str(path), "there is no such file")
        return identified(str(path), path.stat().st_mtime_ns)
    found = next((path for path in _candidates() if path.is_file()), None)
    return None if found is None else identified(str(found), found.stat().st_mtime_ns)


def _candidates() -> Iterator[Path]:
    for wheel in WHEELS:
        yield from files_in_wheel(wheel, NAME)
    toolkit = toolkit_directory()
    for root in (SYSTEM,) if toolkit is None else (toolkit, SYSTEM):
        yield root / FOLDER / NAME


@cache
def identified(path: str, changed: int) -> Libdevice:
    """Return the libdevice of a file, read once for each time it was changed."""
    return Libdevice(path, sha256(_read(path)).hexdigest())


def _read(path: str) -> bytes:
    try:
        found = Path(path).read_bytes()
    except OSError as error:
        raise _unusable(path, f"{type(error).__name__}: {error}") from None
    if not found.startswith(MAGIC):
        raise _unusable(path, "it is no bitcode of LLVM")
    return found


def _unusable(path: str, why: str) -> CompileError:
    return CompileError(
        f"{path} cannot be used for the math functions of GPU kernels",
        expected=f"{NAME} of a CUDA toolkit",
        got=why,
        hint="pip install nvidia-nvvm, or TILEWRIGHT_LIBDEVICE=off for our own functions",
        code=Code.TOOLCHAIN,
    )


def link(module: Any, library: Libdevice, builder: Any) -> None:
    """Link a module with the functions it declares; all of them become its own."""
    own = {f.name for f in module.functions if not f.is_declaration}
    key = library, module.triple, module.data_layout
    if key not in _PARSED:
        _PARSED[key] = _parsed(*key)
        _keep(_PARSED[key], {symbol[1:] for symbol in LINKED.values()}, builder)
    module.link_in(_PARSED[key], preserve=True)
    _keep(module, own, builder)


_PARSED: dict[tuple[Libdevice, str, str], Any] = {}
"""What we use of each library: parsing all of it takes 50 ms. Filled under the lock of LLVM."""


def _parsed(library: Libdevice, triple: str, layout: str) -> Any:
    try:
        module = llvm.parse_bitcode(_read(library.path))
    except RuntimeError as error:
        raise _unusable(library.path, " ".join(str(error).split())) from None
    module.triple, module.data_layout = triple, layout
    missing = {symbol[1:] for symbol in LINKED.values()} - {f.name for f in module.functions}
    if missing:
        raise _unusable(library.path, f"it has no {', '.join(sorted(missing))}")
    return module


def _keep(module: Any, names: set[str], builder: Any) -> None:
    """Drop all functions but some, and those that they call."""
    for function in module.functions:
        if not function.is_declaration and function.name not in names:
            function.linkage = "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    run_passes(passes, module, builder)


# -------------------------------------------------------------------------------------------------
# LLVM text to PTX. Input on which LLVM would abort is rejected first.

TRIPLE = "nvptx64-nvidia-cuda"
VERSIONS: dict[str, int] = {
    "sm_80": 70, "sm_86": 71, "sm_87": 74, "sm_89": 78, "sm_90": 78, "sm_90a": 80, "sm_100": 86,
    "sm_100a": 86, "sm_103": 88, "sm_120": 87, "sm_121": 88,
}  # fmt: skip
"""The architectures, and the oldest version of PTX that knows each: drivers read what is older."""
OPTIMIZATION = 3


@dataclass(frozen=True, slots=True)
class PtxTarget:
    """An architecture."""

    arch: str

    def __post_init__(self) -> None:
        if self.arch not in VERSIONS:
            raise CompileError(
                f"there is no PTX for {self.arch!r}",
                code=Code.TARGET,
                expected=", ".join(VERSIONS),
                got=repr(self.arch),
            )

    @property
    def features(self) -> str:
        """What LLVM calls the version of PTX."""
        return f"+ptx{VERSIONS[self.arch]}"


@made_once
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # Inline assembly is read by the host's parser too; without one LLVM aborts.
    llvm.initialize_native_asmparser()


def compile_ptx(text: str, target: PtxTarget, library: Libdevice | None = None) -> str:
    """Return the PTX of a module, linked with a library where it needs one."""
    with llvm_lock():
        return shielded(_compile, text, target, library)


def _compile(text: str, target: PtxTarget, library: Libdevice | None) -> str:
    _initialize()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(
        cpu=target.arch, features=target.features, opt=OPTIMIZATION
    )
    module = _parse(text, machine)
    options = llvm.create_pipeline_tuning_options(speed_level=OPTIMIZATION)
    options.loop_vectorization = False
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    if library is not None:
        link(module, library, builder)
    run_default_passes(module, builder)
    return str(machine.emit_assembly(module))


def _parse(text: str, machine: Any) -> Any:
    try:
        module = llvm.parse_assembly(text)
        module.triple = TRIPLE
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise InternalError(
            "the PTX backend generated LLVM code that LLVM rejects",
            got=str(error).strip(),
            hint="this is a bug; TILEWRIGHT_DUMP=llvm shows the code",
        ) from None
    return module
