"""Emit the PTX module of a SIMT kernel, link libdevice, and encode PTX for the disk cache."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import llvmlite

from ...analysis.needed_precision import LAST_BITS, Form, Forms
from ...base.config import current, toolkit_directory
from ...base.cuda_abi import symbol
from ...base.errors import Code, CompileError, InternalError
from ...base.files import files_in_wheel
from ...base.llvm import llvm
from ...base.shield import llvm_lock, made_once, shielded
from ...base.stage import ArtifactCodec, Facts, Saved, Stage
from ...ir.artifact import Artifact, sites_of
from ...ir.attrs import Rounding
from ...ir.core import Func, Value
from ...ir.signature import OutputSpec, ParamSpec, TensorSpec
from ...ir.types import PtrType, TensorType, TileType
from ..cpu.emit.access import alignment, from_memory
from ..cpu.emit.emitter import CUDA, LlvmEmitter, TensorPointer, memory_type
from ..cpu.emit.kernel import function_text, run
from ..cpu.loopnest.lower import lower
from ..cpu.loopnest.nodes import ScalarStmt, Stmt
from ..libm import Library
from ..llvm.builder import Vec, Writer
from ..llvm.debug_locations import directive_listing, llvm_listing
from ..llvm.object import CpuTarget, run_default_passes, run_passes
from .simt import TABLE, thread_number

# --- approximate forms of functions in PTX, for one thread -------------------------------------


def instruction(name: str) -> Writer:
    """Return an instruction on f32, which LLVM neither moves apart nor replaces."""

    def write(first: Vec, *others: Vec) -> Vec:
        args = (first, *others)
        slots = ", ".join(f"${k}" for k in range(len(args) + 1))
        constraints = ",".join(["=f"] + ["f"] * len(args))
        given = ", ".join(map(str, args))
        text = f'call float asm "{name} {slots};", "{constraints}"({given})'
        return first.body.emit(text, first.elem, first.lanes)

    return write


def _exp(x: Vec) -> Vec:
    """Compute 2**(x log2(e)): the product is rounded, as if x had been rounded once more."""
    return instruction("ex2.approx.ftz.f32")(x * math.log2(math.e))


FORMS: Forms[Writer] = {
    "tanh": (Form(11, "tanh.approx", instruction("tanh.approx.f32")),),
    "exp": (Form(LAST_BITS, "ex2.approx of a scaled argument", _exp),),
    "exp2": (Form(LAST_BITS, "ex2.approx", instruction("ex2.approx.ftz.f32")),),
    "divf": (
        Form(LAST_BITS, "div.approx", instruction("div.approx.ftz.f32"), Rounding.APPROX),
        Form(LAST_BITS, "div.full", instruction("div.full.f32")),
    ),
    "rsqrt": (Form(LAST_BITS, "rsqrt.approx", instruction("rsqrt.approx.f32")),),
    "sqrt": (Form(LAST_BITS, "sqrt.approx", instruction("sqrt.approx.f32"), Rounding.APPROX),),
}
"""The approximate forms of functions, the fastest first; their errors are those in Tile IR.

rsqrt.approx and sqrt.approx are off by at most 2**-22.9 and 2**-23, of subnormal numbers too.
"""


# -------------------------------------------------------------------------------------------------
# The module of a SIMT kernel for GPUs: one entry, called as `base.cuda_abi` defines.

GLOBAL = "ptr addrspace(1)"
Used: TypeAlias = Mapping[tuple[str, str], bool]
"""Elementary functions, and whether they are linked."""
ANY_WIDTH = 64
"""Bytes of vectors, which scalars do not have; plans ask for some."""


@dataclass(frozen=True, slots=True)
class Written:
    """The LLVM text of a kernel, and the elementary functions in it."""

    func: Func
    text: str
    library: Libdevice | None = None
    """What is to be linked; None where nothing of it is used."""
    decisions: tuple[str, ...] = ()


def write_ptx(func: Func, target: PtxTarget) -> Written:
    """Return the LLVM text of a SIMT kernel, for one thread."""
    library = find_libdevice()
    text, used, notes = _emit(func, target, {} if library is None else LINKED)
    linked = library if any(used.values()) else None
    return Written(func, text, linked, (*_decisions(library, used), *notes))


def _decisions(library: Libdevice | None, used: Used) -> Iterator[str]:
    """Yield the text that names the math libraries in use."""
    yield "one thread per element, through LLVM"
    own = [f"{name} of {dtype}" for (name, dtype), linked in used.items() if not linked]
    theirs = [f"{name} of {dtype}" for (name, dtype), linked in used.items() if linked]
    if theirs:
        yield f"functions of libdevice: {', '.join(theirs)}"
    if own and library is not None:
        yield f"own functions, since libdevice's err by more than 2 ulp: {', '.join(own)}"
    elif own:
        off = current().libdevice == OFF
        why = "TILEWRIGHT_LIBDEVICE=off" if off else f"no {NAME} was found"
        yield f"own functions, since {why}: {', '.join(own)}"


def _emit(
    func: Func, target: PtxTarget, linked: Mapping[tuple[str, str], str]
) -> tuple[str, Used, Sequence[str]]:
    plan = lower(func, ANY_WIDTH, ANY_WIDTH)
    emitter = LlvmEmitter(plan, CpuTarget(target.arch, target.features, TRIPLE), _run)
    emitter.record = CUDA
    emitter.library = Library(linked=linked)
    emitter.forms = FORMS
    declared = _Parameters(emitter, func).declared()
    if plan.sites:
        declared.append(f"{GLOBAL} align 8 %record")
        emitter.do(f"%launch = addrspacecast {GLOBAL} %record to ptr")
        emitter.linear_block = thread_number(emitter)
    emitter.next_block = emitter.label("end")
    emitter.statements(plan.body)
    emitter.body.label(emitter.next_block)
    emitter.do("ret void")
    return _text(emitter, func, declared), emitter.library.used, tuple(emitter.notes)


def _run(emitter: LlvmEmitter, statement: Stmt) -> None:
    """Write one statement for one thread: SIMT ops by their own table, all others as on CPUs."""
    if isinstance(statement, ScalarStmt) and statement.op.name in TABLE:
        with emitter.body.coming_from(statement.op.span):
            TABLE[statement.op.name](emitter, statement.op)
    else:
        run(emitter, statement)


class _Parameters:
    """The parameters of the entry; binds their values."""

    def __init__(self, emitter: LlvmEmitter, func: Func) -> None:
        self.emitter = emitter
        self.func = func
        self.alone = not any(_is_pointer(v) for v in func.params)
        """Whether no raw pointer can reach the memory of a slice."""

    def declared(self) -> list[str]:
        found: list[str] = []
        pairs = zip(self.emitter.plan.params, self.func.signature.params, strict=True)
        for number, (value, spec) in enumerate(pairs):
            found += self.one(value, spec, f"%p{number}")
        return found

    def one(self, value: Value, spec: ParamSpec, name: str) -> list[str]:
        if isinstance(spec, TensorSpec | OutputSpec):
            return self.slice(value, spec, name)
        if _is_pointer(value):
            self.emitter.names[value] = self.vec(f"ptrtoint {GLOBAL} {name} to i64", "i64")
            return [f"{GLOBAL} {name}"]
        kind = memory_type(spec.dtype)
        given = Vec(self.emitter.body, name, kind, 1)
        self.emitter.names[value] = from_memory(given, spec.dtype)
        return [f"{kind} {name}"]

    def slice(self, value: Value, spec: TensorSpec | OutputSpec, name: str) -> list[str]:
        """Return an address and a length."""
        assert isinstance(value.type, TensorType), "a slice is a tensor"
        width = "i32" if spec.facts.narrow else "i64"
        length = Vec(self.emitter.body, f"{name}_length", width, 1)
        whole = length.cast("zext", "i64") if width == "i32" else length
        address = self.vec(f"addrspacecast {GLOBAL} {name} to ptr", "ptr")
        stride = self.emitter.integer(1)
        self.emitter.tensors[value] = TensorPointer(address, (whole,), (stride,))
        words = [GLOBAL, *(["noalias"] if self.alone else [])]
        words += ["readonly"] if isinstance(spec, TensorSpec) and self.alone else []
        return [" ".join([*words, f"align {alignment(spec.dtype)}", name]), str(length)]

    def vec(self, text: str, kind: str) -> Vec:
        return self.emitter.body.emit(text, kind, 1)


def _is_pointer(value: Value) -> bool:
    return isinstance(value.type, TileType) and isinstance(value.type.elem, PtrType)


def _text(emitter: LlvmEmitter, func: Func, declared: Sequence[str]) -> str:
    declarations = sorted(emitter.body.declarations | emitter.library.declarations())
    head = f'define ptx_kernel void @"{symbol(func.name)}"({", ".join(declared)}) nounwind'
    exact = func.signature.exact_block
    if exact:
        block = ",".join(map(str, func.signature.block_dims))
        head += f' "nvvm.reqntid"="{block}"'
    kernel = function_text(emitter, head)
    parts = [*declarations, emitter.library.definitions(), *emitter.helpers.values()]
    return "\n".join([*parts, *kernel, ""])


# -------------------------------------------------------------------------------------------------
# The disk-cache encoding of PTX: its dependencies, the saved text, the restoration.
#
# The LLVM text determines a kernel; its hash, with the versions of LLVM and libdevice, is the name.


def codec_for(target: PtxTarget) -> ArtifactCodec:
    """Return the codec that stores PTX for one architecture in the disk cache."""
    return ArtifactCodec(
        facts=lambda made: facts(made, target),
        save=lambda made, kept: Saved({"symbol": kept.name, "arch": kept.target}, kept.code),
        restore=lambda made, saved: restore(made, target, saved),
    )


def artifact(made: Written, target: PtxTarget, ptx: bytes) -> Artifact:
    """Return the artifact of a kernel; PTX is its code."""
    return Artifact(
        name=symbol(made.func.name),
        target=target.arch,
        signature=made.func.signature,
        code=ptx,
        launch_checks=made.func.launch_checks,
        sites=sites_of(made.func),
        decisions=made.decisions,
    )


def facts(made: Written, target: PtxTarget) -> Facts:
    """Return everything that can change the PTX."""
    return {
        "made": "ptx",
        "kernel": made.func.name,
        "arch": target.arch,
        "features": target.features,
        "text": sha256(made.text.encode()).hexdigest(),
        "libdevice": None if made.library is None else made.library.digest,
        "llvm": ".".join(map(str, llvm.llvm_version_info)),
        "llvmlite": str(llvmlite.__version__),
    }


def restore(made: Written, target: PtxTarget, saved: Saved) -> Artifact:
    """Return the artifact of a kernel from the saved one of an equal kernel, or raise."""
    name = symbol(made.func.name)
    if saved.metadata.get("symbol") != name or saved.metadata.get("arch") != target.arch:
        raise ValueError("not the code of this kernel")
    text = saved.code.decode("ascii")
    if re.findall(r"^\.target (\w+)", text, re.MULTILINE) != [target.arch]:
        raise ValueError("for another architecture")
    if re.findall(r"^\.visible \.entry (\w+)\(", text, re.MULTILINE) != [name]:
        raise ValueError("not an entry of this name alone")
    return artifact(made, target, saved.code)


# -------------------------------------------------------------------------------------------------
# Stages of SIMT kernels on GPUs: typed IR to LLVM text for one thread, to PTX, the artifact.


def stages(arch: str) -> tuple[Stage, ...]:
    """Return the stages from typed IR to an artifact for a CUDA architecture."""
    target = PtxTarget(arch)
    return (
        Stage("llvm", lambda func: write_ptx(func, target), lambda made: llvm_listing(made.text)),
        Stage(
            "ptx",
            lambda made: artifact(made, target, _ptx(made, target)),
            lambda made: directive_listing(made.code.decode()),
            codec_for(target),
        ),
    )


def _ptx(made: Written, target: PtxTarget) -> bytes:
    return compile_ptx(made.text, target, made.library).encode()


# -------------------------------------------------------------------------------------------------
# LLVM text to PTX, with libdevice where its functions satisfy our error bounds.

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
