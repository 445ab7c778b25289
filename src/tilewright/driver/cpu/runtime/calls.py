"""LLVM text as Python callables: addresses and numbers in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...._core import cancel_job, text_addresses, text_resume
from ....base.forking import llvm_lock, made_once
from ....base.shield import shielded
from ..calling import Signature, builtin, wrapped, wrappers
from ..native import NativeFunction, initialize, link, llvm


@dataclass(frozen=True, slots=True)
class Calls:
    """What other LLVM text calls of the streams."""

    resume: Callable[[int, int, int, int], int]
    give_up: Callable[[int], None]
    addresses: Mapping[str, int]


def _named(signatures: Mapping[str, Signature]) -> dict[str, Signature]:
    return {f"tw_{name}": signature for name, signature in signatures.items()}


def callables(
    text: str, signatures: Mapping[str, Signature], *, optimize: bool
) -> dict[str, Callable[..., Any]]:
    """The functions of a text, `tw_` and their names, for Python; compiled now, kept for good."""
    return compiled_calls(text, signatures, (), optimize=optimize)[0]


def compiled_calls(
    text: str, signatures: Mapping[str, Signature], direct: Sequence[str], *, optimize: bool
) -> tuple[dict[str, Callable[..., Any]], dict[str, int]]:
    """As `callables`; and the addresses of functions that other native code calls."""
    symbols = {name: wrapped(f"tw_{name}") for name in signatures}
    others = {name: f"tw_{name}" for name in direct}
    whole = wrappers(_named(signatures)) + text
    found = compiled(whole, (*symbols.values(), *others.values()), optimize=optimize)
    made = {name: builtin(found[symbol]) for name, symbol in symbols.items()}
    return made, {name: found[symbol].address for name, symbol in others.items()}


def compiled(text: str, symbols: tuple[str, ...], *, optimize: bool) -> dict[str, NativeFunction]:
    """Functions of a text, compiled for this machine."""
    with llvm_lock():
        return shielded(_compiled, text, symbols, optimize=optimize)


def _compiled(text: str, symbols: tuple[str, ...], *, optimize: bool) -> dict[str, NativeFunction]:
    initialize()
    machine = _machine(optimize=optimize)
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.verify()
    _inline(module, machine)
    return link(machine.emit_object(module), symbols)


def _machine(*, optimize: bool) -> Any:
    target = llvm.Target.from_default_triple()
    if not optimize:
        return target.create_target_machine(opt=0)
    # A virtual machine may hide some of what processors of that name have.
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(llvm.get_host_cpu_name(), features, opt=2)


def _inline(module: Any, machine: Any) -> None:
    """Make one function of those that ask for it, which makes the rest quicker, too."""
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, llvm.create_pass_builder(machine, options))


@made_once
def calls() -> Calls:
    """All of them."""
    return Calls(text_resume, cancel_job, text_addresses())
