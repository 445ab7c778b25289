"""Where variables lie: static memory of the device and of a block, memory of a thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from .program import Address, Function, Module, Operand, PtxError, Register, Variable

STATIC = 1 << 58
"""Where the variables of the module begin."""
SHARED_START = 1 << 10
"""Where the memory of a block begins: 0 is no address."""
SHARED_WINDOW, LOCAL_WINDOW = 1 << 60, 1 << 61
"""Where memory of a block and of a thread stand among generic addresses."""
DYNAMIC_ALIGNMENT = 16


@dataclass(slots=True)
class Place:
    """A parameter, or a result, of a thread: where it lies in the memory of the thread."""

    start: int
    nbytes: int


@dataclass(slots=True)
class Layout:
    """Where everything is that instructions name, in one function at a time."""

    module: Module
    entry: Function
    function: Function = field(init=False)
    """The one whose instructions are being read."""
    addresses: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """Of variables, by function ("" for those of the module) and name."""
    spaces: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    places: dict[tuple[str, str], Place] = field(default_factory=dict[tuple[str, str], Place])
    """Of parameters of functions and of calls, by function and name."""
    kernel_params: dict[str, Place] = field(default_factory=dict[str, Place])
    statics: list[tuple[int, Variable]] = field(default_factory=list[tuple[int, Variable]])
    shared_end: int = SHARED_START
    local_end: int = 0
    param_end: int = 0
    local_of: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """The part of a thread's memory that belongs to a function: uninitialized when it begins."""

    _uses: dict[str, Counter[Register]] = field(default_factory=dict[str, Counter[Register]])

    def __post_init__(self) -> None:
        self.function = self.entry
        self._place_statics()
        for function in self.module.functions.values():
            self._place_function(function)
        # What a launch asks for lies behind everything else.
        self.shared_end = _aligned(self.shared_end, DYNAMIC_ALIGNMENT)
        for key, space in self.spaces.items():
            if space == "shared" and key not in self.addresses:
                self.addresses[key] = self.shared_end
        offset = 0
        for param in self.entry.params:
            offset = _aligned(offset, param.align)
            self.kernel_params[param.name] = Place(offset, param.nbytes)
            offset += param.nbytes

    def _place_statics(self) -> None:
        at = STATIC
        for variable in self.module.variables.values():
            key = "", variable.name
            self.spaces[key] = variable.space
            if variable.space in ("global", "const"):
                at = _aligned(at, max(variable.align, 16))
                self.addresses[key] = at
                self.statics.append((at, variable))
                at += variable.nbytes
            elif variable.space == "shared":
                self._place_shared(key, variable)
            else:
                raise PtxError(f"a variable of the module in {variable.space} memory")

    def _place_shared(self, key: tuple[str, str], variable: Variable) -> None:
        if variable.nbytes:
            self.shared_end = _aligned(self.shared_end, variable.align)
            self.addresses[key] = self.shared_end
            self.shared_end += variable.nbytes

    def _place_function(self, function: Function) -> None:
        start = self.local_end
        for variable in function.variables.values():
            key = function.name, variable.name
            self.spaces[key] = variable.space
            if variable.space == "shared":
                self._place_shared(key, variable)
            elif variable.space == "local":
                self.local_end = _aligned(self.local_end, variable.align)
                self.addresses[key] = self.local_end
                self.local_end += variable.nbytes
            else:
                self._place_param(key, variable)
        self.local_of[function.name] = start, self.local_end
        if not function.is_entry:
            for variable in (*function.params, *function.results):
                self._place_param((function.name, variable.name), variable)

    def _place_param(self, key: tuple[str, str], variable: Variable) -> None:
        self.param_end = _aligned(self.param_end, max(variable.align, 16))
        self.places[key] = Place(self.param_end, variable.nbytes)
        self.param_end += variable.nbytes

    # --- questions -----------------------------------------------------------------------------

    def _key(self, name: str) -> tuple[str, str]:
        for key in ((self.function.name, name), ("", name)):
            if key in self.spaces:
                return key
        raise PtxError(f"{name} is not declared in {self.function.name}")

    def address(self, name: str) -> int:
        """Return the address of a variable in its own space."""
        return self.addresses[self._key(name)]

    def space(self, name: str) -> str:
        """Return the space of a variable."""
        return self.spaces[self._key(name)]

    def is_used(self, register: Operand) -> bool:
        """Return whether anything but the one instruction that writes a register names it."""
        name = self.function.name
        if name not in self._uses:
            self._uses[name] = Counter(_registers(self.function))
        return isinstance(register, Register) and self._uses[name][register] > 1

    def param(self, name: str, function: str = "") -> Place:
        """Return where a parameter lies that is no parameter of the kernel."""
        owner = function or self.function.name
        if (owner, name) not in self.places:
            raise PtxError(f"{name} is no parameter of {owner}")
        return self.places[owner, name]


def _registers(function: Function) -> Iterator[Register]:
    for instr in function.code:
        if instr.guard is not None:
            yield instr.guard.register
        for operand in instr.operands:
            for part in operand if isinstance(operand, tuple) else (operand,):
                named = part.base if isinstance(part, Address) else part
                if isinstance(named, Register):
                    yield named


def _aligned(offset: int, align: int) -> int:
    return -(-offset // align) * align
