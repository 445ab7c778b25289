"""Emit the PTX module of a SIMT kernel, and encode it for the disk cache."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias

import llvmlite

from ...analysis.needed_precision import LAST_BITS, Form, Forms
from ...base.config import current
from ...base.cuda_abi import symbol
from ...base.llvm import llvm
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
from ..llvm.object import CpuTarget
from .code import LINKED, NAME, OFF, TRIPLE, Libdevice, PtxTarget, compile_ptx, find_libdevice
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
