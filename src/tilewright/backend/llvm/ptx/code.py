"""LLVM text to PTX. What LLVM would abort on is refused before it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import llvmlite.binding

from ....base.errors import Code, CompileError, InternalError
from ....base.forking import llvm_lock, made_once
from ....base.passes import run_passes
from ....base.shield import shielded
from .libdevice import Libdevice, link

llvm: Any = llvmlite.binding
"""Ships no types."""

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
    """The PTX of a module, linked with a library where it needs one."""
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
    run_passes(builder.getModulePassManager(), module, builder)
    return str(machine.emit_assembly(module))


def _parse(text: str, machine: Any) -> Any:
    try:
        module = llvm.parse_assembly(text)
        module.triple = TRIPLE
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise InternalError(
            "the PTX backend wrote LLVM code that LLVM refuses",
            got=str(error).strip(),
            hint="this is a bug; TILEWRIGHT_DUMP=llvm shows the code",
        ) from None
    return module
