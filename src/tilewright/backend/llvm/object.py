"""LLVM text to an object file, and LLVM passes over modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.errors import InternalError
from ...base.listing import Listing
from ...base.llvm import llvm
from ...base.shield import llvm_lock, made_once, shielded
from .debug_locations import directive_listing
from .target import CpuTarget

# -------------------------------------------------------------------------------------------------
# LLVM passes over modules, with explicit disposal.
#
# llvmlite leaks pass managers: `_dispose` is hidden by that of its first base, which does nothing.
# Each manager would leak its passes, a hundred kilobytes in the default pipeline.

_MANAGER: type[Any] = llvm.newpassmanagers.NewPassManager
_dispose: Callable[[Any], None] = vars(_MANAGER)["_dispose"]


def run_passes(manager: Any, module: Any, builder: Any) -> None:
    """Run the passes of a manager over a module, once."""
    try:
        manager.run(module, builder)
    finally:
        _dispose(manager)
        manager.detach()


def run_default_passes(module: Any, builder: Any) -> None:
    """Run the passes that a builder's options ask for."""
    run_passes(builder.getModulePassManager(), module, builder)


# -------------------------------------------------------------------------------------------------
# LLVM text to an object file: parsed and verified first, because LLVM aborts on invalid IR.

OPTIMIZATION = 2


@made_once
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def _machine(cpu: CpuTarget) -> Any:
    _initialize()
    target = llvm.Target.from_triple(cpu.triple)
    return target.create_target_machine(
        cpu=cpu.name, features=cpu.features, opt=OPTIMIZATION, reloc="pic", codemodel="default"
    )


def _parse(text: str, cpu: CpuTarget, machine: Any) -> Any:
    try:
        module = llvm.parse_assembly(text)
        module.triple = cpu.triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise InternalError(
            "the CPU backend generated LLVM code that LLVM rejects",
            got=str(error).strip(),
            hint="this is a bug; TILEWRIGHT_DUMP=llvm shows the code",
        ) from None
    return module


def _optimize(module: Any, machine: Any) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=OPTIMIZATION)
    # Our loops are vectors already: unrolled once more they are no faster, only longer to compile.
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_interleaving = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    run_default_passes(module, builder)


def compile_module(text: str, cpu: CpuTarget) -> bytes:
    """Return the object file of a module."""
    with llvm_lock():
        return shielded(_compile, text, cpu)


def _compile(text: str, cpu: CpuTarget) -> bytes:
    machine = _machine(cpu)
    module = _parse(text, cpu, machine)
    _optimize(module, machine)
    return bytes(machine.emit_object(module))


def assembly(text: str, cpu: CpuTarget) -> str:
    """Return the assembly of a module, for people."""
    with llvm_lock():
        return shielded(_assemble, text, cpu)


def assembly_listing(text: str, cpu: CpuTarget) -> dict[str, Listing]:
    """Return the assembly of a module with the places of its lines, as more text of a stage."""
    return {"assembly": directive_listing(assembly(text, cpu))}


def _assemble(text: str, cpu: CpuTarget) -> str:
    machine = _machine(cpu)
    module = _parse(text, cpu, machine)
    _optimize(module, machine)
    return str(machine.emit_assembly(module))
