"""Writes the module of a SIMT kernel for GPUs: one entry, called as `base.cuda_abi` says."""

from __future__ import annotations

from collections.abc import Sequence

from ....base.cuda_abi import symbol
from ....ir.core import Func, Value
from ....ir.signature import OutputSpec, ParamSpec, TensorSpec
from ....ir.types import PtrType, TensorType, TileType
from ..emit.access import alignment, from_memory
from ..emit.emitter import Emitter, Tensor
from ..emit.kernel import run
from ..emit.record import CUDA
from ..emit.threads import thread_number
from ..emit.types import memory_type
from ..functions.text import Value as Vec
from ..plan.lower import lower
from ..target import CpuTarget
from .code import TRIPLE, PtxTarget

GLOBAL = "ptr addrspace(1)"
ANY_WIDTH = 64
"""Bytes of vectors, which scalars do not have; plans ask for some."""


def emit_ptx(func: Func, target: PtxTarget) -> str:
    """The LLVM text of a SIMT kernel, for one thread."""
    plan = lower(func, ANY_WIDTH, ANY_WIDTH)
    emitter = Emitter(plan, CpuTarget(target.arch, target.features, TRIPLE), run)
    emitter.record = CUDA
    declared = _Parameters(emitter, func).declared()
    if plan.sites:
        declared.append(f"{GLOBAL} align 8 %record")
        emitter.do(f"%launch = addrspacecast {GLOBAL} %record to ptr")
        emitter.linear_block = thread_number(emitter)
    emitter.next_block = emitter.label("end")
    emitter.statements(plan.body)
    emitter.body.label(emitter.next_block)
    emitter.do("ret void")
    return _text(emitter, func, declared)


class _Parameters:
    """The parameters of the entry; binds their values."""

    def __init__(self, emitter: Emitter, func: Func) -> None:
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
        """An address and a length."""
        assert isinstance(value.type, TensorType), "a slice is a tensor"
        width = "i32" if spec.facts.narrow else "i64"
        length = Vec(self.emitter.body, f"{name}_length", width, 1)
        whole = length.cast("zext", "i64") if width == "i32" else length
        address = self.vec(f"addrspacecast {GLOBAL} {name} to ptr", "ptr")
        stride = self.emitter.integer(1)
        self.emitter.tensors[value] = Tensor(address, (whole,), (stride,))
        words = [GLOBAL, *(["noalias"] if self.alone else [])]
        words += ["readonly"] if isinstance(spec, TensorSpec) and self.alone else []
        return [" ".join([*words, f"align {alignment(spec.dtype)}", name]), str(length)]

    def vec(self, text: str, kind: str) -> Vec:
        return self.emitter.body.emit(text, kind, 1)


def _is_pointer(value: Value) -> bool:
    return isinstance(value.type, TileType) and isinstance(value.type.elem, PtrType)


def _text(emitter: Emitter, func: Func, declared: Sequence[str]) -> str:
    declarations = sorted(emitter.body.declarations | emitter.library.declarations())
    head = f'define ptx_kernel void @"{symbol(func.name)}"({", ".join(declared)}) nounwind'
    exact = func.signature.exact_block
    if exact:
        block = ",".join(map(str, func.signature.block_dims))
        head += f' "nvvm.reqntid"="{block}"'
    kernel = [f"{head} {{", "entry:", *emitter.slots, *emitter.body.lines, "}"]
    parts = [*declarations, emitter.library.definitions(), *emitter.helpers.values()]
    return "\n".join([*parts, *kernel, ""])
