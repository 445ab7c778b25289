"""The compiled functions of the native half as Python callables: addresses and numbers in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ....base.forking import llvm_lock, made_once
from ....base.passes import run_passes
from ....base.shield import shielded
from ..calling import Kind, Signature, builtin, wrapped, wrappers
from ..native import NativeFunction, initialize, link, llvm
from . import common, looking, moving, queueing, running, serving, stopping, waiting


@dataclass(frozen=True, slots=True)
class Calls:
    """What the functions do stands with their texts."""

    start: Callable[[int], int]
    stop: Callable[[int], int]
    serve: Callable[[int], int]
    put: Callable[[int, int], int]
    put_wait: Callable[[int, int, int], int]
    inline: Callable[[int, int, int, int], int]
    resume: Callable[[int, int, int, int], int]
    mine: Callable[[int], int]
    give_up: Callable[[int], int]
    cancel: Callable[[int], int]
    wait: Callable[[int, int, int], int]
    alert: Callable[[int, int], int]
    poke: Callable[[int], int]
    listen: Callable[[int, int, int], int]
    hear: Callable[[int], int]
    addresses: Mapping[str, int]
    """Where other native code finds those of `DIRECT`."""


_A, _N = Kind.ADDRESS, Kind.NUMBER

SIGNATURES: dict[str, Signature] = {
    "start": Signature((_A,), gives=None),
    "stop": Signature((_A,), gives=None, releases=True),
    "serve": Signature((_A,), gives=None, releases=True),
    "put": Signature((_A, _A)),
    "put_wait": Signature((_A, _A, _N)),
    "inline": Signature((_A, _A, _A, _N), releases=True),
    "resume": Signature((_A, _A, _A, _N), releases=True),
    "mine": Signature((_A,)),
    "give_up": Signature((_A,), gives=None),
    "cancel": Signature((_A,), gives=None, releases=True),
    "wait": Signature((_A, _N, _N), releases=True),
    "alert": Signature((_A, _N)),
    "poke": Signature((_A,)),
    "listen": Signature((_A, _N, _N), releases=True),
    "hear": Signature((_A,), gives=None),
}


DIRECT = ("put", "seize", "occupy", "let_go", "resume")
"""What other native code calls."""


def text() -> str:
    """The whole module, for this machine."""
    roles = (looking, moving, running, queueing, stopping, waiting, serving)
    return "".join((common.text(), *(role.TEXT for role in roles)))


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
    run_passes(passes, module, llvm.create_pass_builder(machine, options))


@made_once
def calls() -> Calls:
    """All of them; compiled at the first call."""
    # Optimizing would save nothing that can be measured, and cost 30 ms in every process.
    made, addresses = compiled_calls(text(), SIGNATURES, DIRECT, optimize=False)
    return Calls(**made, addresses=addresses)
