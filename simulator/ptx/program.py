"""PTX as data, and its parser: functions of basic blocks, instructions, variables."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

from tilewright.base.errors import InternalError

# --- PTX as data -------------------------------------------------------------------------------


class PtxError(InternalError):
    """PTX that is invalid, that the interpreter does not know, or whose behaviour is undefined."""


@dataclass(frozen=True, slots=True)
class Register:
    """A register of a function: its number in the module, its bits (1 for a predicate)."""

    number: int
    name: str
    bits: int


@dataclass(frozen=True, slots=True)
class PtxNumber:
    """An immediate integer, or the bits of a float and how many there are."""

    value: int
    float_bits: int = 0


@dataclass(frozen=True, slots=True)
class Special:
    """A special register, `%tid.x`."""

    name: str


@dataclass(frozen=True, slots=True)
class PtxSymbol:
    """The name of a variable or a parameter."""

    name: str


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: a part of a vector that is not used."""


@dataclass(frozen=True, slots=True)
class PtxAddress:
    """`[base + offset]`."""

    base: Register | PtxSymbol | PtxNumber
    offset: int


Scalar: TypeAlias = Register | PtxNumber | Special | PtxSymbol | Sink
Operand: TypeAlias = Scalar | PtxAddress | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    """The predicate under which an instruction runs."""

    register: Register
    negated: bool


@dataclass(frozen=True, slots=True)
class PtxInstr:
    """One instruction; `line` is that of the text."""

    opcode: str
    operands: tuple[Operand, ...]
    guard: Guard | None
    line: int
    targets: tuple[str, ...] = ()
    """The labels of a branch; the function of a call."""
    results: tuple[str, ...] = ()
    """The parameters that take the results of a call; its arguments are symbols."""

    def __str__(self) -> str:
        return f"line {self.line}: `{self.opcode}`"


@dataclass(slots=True)
class PtxVariable:
    """A variable: where it lies, its bytes, its alignment, what it holds at first."""

    name: str
    space: str
    nbytes: int
    align: int
    initial: bytes | None = None


@dataclass(slots=True)
class PtxFunction:
    """A kernel or a function: parameters, results, its own variables, and code with labels."""

    name: str
    is_entry: bool
    params: list[PtxVariable] = field(default_factory=list[PtxVariable])
    results: list[PtxVariable] = field(default_factory=list[PtxVariable])
    variables: dict[str, PtxVariable] = field(default_factory=dict[str, PtxVariable])
    registers: list[Register] = field(default_factory=list[Register])
    code: list[PtxInstr] = field(default_factory=list[PtxInstr])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    """The number of the instruction behind each label."""
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """The labels of indexed branches."""
    required_block: tuple[int, ...] | None = None


@dataclass(slots=True)
class PtxModule:
    """A file of PTX."""

    target: str
    functions: dict[str, PtxFunction]
    variables: dict[str, PtxVariable]
    registers: int
    """How many registers all functions have."""


# --- reads PTX as LLVM writes it, with inline assembly -----------------------------------------

TOKEN = re.compile(
    r"(?P<skip>\s+|//[^\n]*|/\*.*?\*/)|(?P<text>\"[^\"]*\")|(?P<word>[\w$%.:]*[\w$%.])|(?P<mark>.)",
    re.DOTALL,
)
FLOAT = re.compile(r"0([fFdD])([0-9A-Fa-f]+)")
SPECIAL = re.compile(r"%(?:(?:tid|ntid|ctaid|nctaid)\.[xyz]|laneid|dynamic_smem_size"
                     r"|lanemask_(?:eq|le|lt|ge|gt)|WARP_SZ)")  # fmt: skip
SPACES = (".global", ".const", ".shared", ".local", ".param")
LINKAGE = (".visible", ".extern", ".weak", ".common")
BRANCHES = ("bra", "bra.uni")
BYTES_OF = {
    f".{letter}{bits}": bits // 8 for letter in "busf" for bits in (8, 16, 32, 64, 128)
}  # fmt: skip
MAX_BLOCK = (".reqntid", ".maxntid", ".minnctapersm")


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    line: int


def parse(text: str) -> PtxModule:
    """Read a module."""
    return _Parser(_tokens(text)).module()


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    line = 1
    for match in TOKEN.finditer(text):
        if match.lastgroup != "skip":
            found.append(_Token(match[0], line))
        line += match[0].count("\n")
    return found


class _Tokens:
    """Tokens that are read one by one."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.at = 0

    @property
    def next(self) -> str:
        """The token that comes next; "" at the end."""
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    @property
    def line(self) -> int:
        return self.tokens[min(self.at, len(self.tokens) - 1)].line

    def take(self, expected: str | None = None) -> str:
        """Return the next token, which must be the expected one."""
        token = self.next
        if not token or (expected is not None and token != expected):
            self.fail(f"expected {expected or 'more'}, got {token or 'the end'}")
        self.at += 1
        return token

    def accept(self, *wanted: str) -> bool:
        """Consume the next token if it is one of these."""
        found = self.next in wanted
        self.at += found
        return found

    def integer(self) -> int:
        sign = -1 if self.accept("-") else 1
        word = self.take()
        try:
            return sign * int(word.rstrip("U"), 0)
        except ValueError:
            self.fail(f"expected a number, got {word}")

    def fail(self, what: str) -> NoReturn:
        raise PtxError(f"line {self.line} of the PTX: {what}")


class _Parser(_Tokens):
    def __init__(self, tokens: list[_Token]) -> None:
        super().__init__(tokens)
        self.registers = 0
        self.functions: dict[str, PtxFunction] = {}
        self.variables: dict[str, PtxVariable] = {}
        self.target = ""

    def module(self) -> PtxModule:
        self.take(".version")
        self.take()
        self.take(".target")
        self.target = self.take()
        while self.accept(","):
            self.take()
        self.take(".address_size")
        if self.integer() != 64:
            self.fail("addresses must have 64 bits")
        while self.next:
            self._top_level()
        return PtxModule(self.target, self.functions, self.variables, self.registers)

    def _top_level(self) -> None:
        while self.accept(*LINKAGE):
            pass
        if self.next in (".entry", ".func"):
            self._function()
        elif self.next in SPACES:
            self.define(self.variables)
        else:
            self.fail(f"the interpreter does not know {self.next} here")

    # --- declarations --------------------------------------------------------------------------

    def define(self, known: dict[str, PtxVariable]) -> None:
        made = self.variable()
        if made.name in known:
            self.fail(f"{made.name} is defined twice")
        known[made.name] = made
        self.take(";")

    def variable(self) -> PtxVariable:
        """Return a declaration up to its end, with the bytes that it holds at first."""
        space = self.take().removeprefix(".")
        align, size = 0, 0
        while self.next.startswith("."):
            word = self.take()
            if word == ".align":
                align = self.integer()
            elif word in BYTES_OF:
                size = BYTES_OF[word]
            elif word not in (".ptr", *SPACES):
                self.fail(f"the interpreter does not know {word} in a declaration")
        name = self.take()
        if not size:
            self.fail(f"{name} has no type")
        count = 1
        while self.accept("["):
            count *= 0 if self.next == "]" else self.integer()
            self.take("]")
        initial = self._initial(size, size * count) if self.accept("=") else None
        return PtxVariable(name, space, size * count, align or size, initial)

    def _initial(self, size: int, nbytes: int) -> bytes:
        mask = (1 << 8 * size) - 1
        if not self.accept("{"):
            return (self._value() & mask).to_bytes(size, "little")
        values = [self._value()]
        while self.accept(","):
            values.append(self._value())
        self.take("}")
        made = b"".join((value & mask).to_bytes(size, "little") for value in values)
        return made + bytes(nbytes - len(made))

    def _value(self) -> int:
        match = FLOAT.fullmatch(self.next)
        if match:
            self.take()
            return int(match[2], 16)
        return self.integer()

    # --- functions -----------------------------------------------------------------------------

    def _function(self) -> None:
        is_entry = self.take() == ".entry"
        results = self._parameters() if self.next == "(" else []
        made = PtxFunction(self.take(), is_entry, results=results)
        if self.next == "(":
            made.params = self._parameters()
        while self.next.startswith("."):
            self._directive(made)
        if self.accept(";"):
            return  # a prototype: the function itself follows
        if made.name in self.functions:
            self.fail(f"{made.name} is defined twice")
        self.functions[made.name] = made
        _Body(self, made).read()

    def _parameters(self) -> list[PtxVariable]:
        self.take("(")
        found: list[PtxVariable] = []
        while not self.accept(")"):
            if found:
                self.take(",")
            found.append(self.variable())
        return found

    def _directive(self, made: PtxFunction) -> None:
        word = self.take()
        if word == ".noreturn":
            return
        if word not in MAX_BLOCK:
            self.fail(f"the interpreter does not know {word} of a function")
        numbers = [self.integer()]
        while self.accept(","):
            numbers.append(self.integer())
        if word == ".reqntid":
            made.required_block = (*numbers, 1, 1)[:3]


class _Body:
    """The code of a function; registers that a scope declares are known until it ends."""

    def __init__(self, parser: _Parser, function: PtxFunction) -> None:
        self.parser = parser
        self.function = function
        self.scopes: list[dict[str, Register]] = []
        self.call_params: dict[str, PtxVariable] = {}
        self.families: list[dict[str, tuple[int, int]]] = []
        """Registers by a common prefix: how many there are, and their bits."""

    def read(self) -> None:
        self._open()
        while self.scopes:
            self._statement()

    def _open(self) -> None:
        self.parser.take("{")
        self.scopes.append({})
        self.families.append({})

    def _statement(self) -> None:
        p = self.parser
        if p.next == "{":
            self._open()
        elif p.accept("}"):
            self.scopes.pop()
            self.families.pop()
        elif p.accept(";"):
            pass
        elif p.next == ".reg":
            self._registers()
        elif p.next in (".shared", ".local"):
            p.define(self.function.variables)
        elif p.next == ".param":
            self._call_parameter()
        elif p.accept(".pragma"):
            p.take()
            p.take(";")
        elif p.at + 1 < len(p.tokens) and p.tokens[p.at + 1].text == ":":
            self._label()
        else:
            self._instruction()

    def _label(self) -> None:
        p = self.parser
        name = p.take()
        p.take(":")
        if p.accept(".branchtargets"):
            names = [p.take()]
            while p.accept(","):
                names.append(p.take())
            p.take(";")
            self.function.tables[name] = tuple(names)
            return
        if name in self.function.labels:
            p.fail(f"the label {name} is defined twice")
        self.function.labels[name] = len(self.function.code)

    def _registers(self) -> None:
        p = self.parser
        p.take(".reg")
        kind = p.take()
        bits = 1 if kind == ".pred" else 8 * BYTES_OF.get(kind, 0)
        if not bits:
            p.fail(f"there are no registers of type {kind}")
        while True:
            name = p.take()
            if p.accept("<"):
                self.families[-1][name] = (p.integer(), bits)
                p.take(">")
            else:
                self._register(name, bits)
            if not p.accept(","):
                break
        p.take(";")

    def _register(self, name: str, bits: int, level: int = -1) -> Register:
        made = Register(self.parser.registers, name, bits)
        self.parser.registers += 1
        self.scopes[level][name] = made
        self.function.registers.append(made)
        return made

    def _call_parameter(self) -> None:
        """Return the parameters of a call: the same name at each call is the same memory."""
        made = self.parser.variable()
        known = self.function.variables.get(made.name)
        if known is not None and known.nbytes > made.nbytes:
            made = known
        self.function.variables[made.name] = made
        self.parser.take(";")

    # --- instructions --------------------------------------------------------------------------

    def _instruction(self) -> None:
        p = self.parser
        line, guard = p.line, self._guard()
        opcode = p.take()
        if opcode.startswith("."):
            p.fail(f"the interpreter does not know {opcode} here")
        if opcode.split(".")[0] == "call":
            targets, results, operands = self._call()
        elif opcode in BRANCHES:
            targets, results, operands = (p.take(),), (), ()
        else:
            operands, results = self._operands(), ()
            targets = ()
            if opcode.startswith("brx."):
                table = operands[-1]
                assert isinstance(table, PtxSymbol), "a table of labels has a name"
                targets, operands = (table.name,), operands[:-1]
        p.take(";")
        self.function.code.append(PtxInstr(opcode, operands, guard, line, targets, results))

    def _guard(self) -> Guard | None:
        p = self.parser
        if not p.accept("@"):
            return None
        negated = p.accept("!")
        register = self._word(p.take())
        if not isinstance(register, Register) or register.bits != 1:
            p.fail("a guard must be a predicate")
        return Guard(register, negated)

    def _call(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Operand, ...]]:
        p = self.parser
        results = self._names() if p.next == "(" else ()
        if results:
            p.take(",")
        name = p.take()
        given = self._names() if p.accept(",") else ()
        return (name,), results, tuple(PtxSymbol(each) for each in given)

    def _names(self) -> tuple[str, ...]:
        p = self.parser
        p.take("(")
        found: list[str] = []
        while not p.accept(")"):
            if found:
                p.take(",")
            found.append(p.take())
        return tuple(found)

    def _operands(self) -> tuple[Operand, ...]:
        p = self.parser
        found: list[Operand] = []
        while p.next != ";":
            if found and not p.accept("|"):
                p.take(",")
            found.append(self._operand())
        return tuple(found)

    def _operand(self) -> Operand:
        p = self.parser
        if p.accept("["):
            return self._address()
        if p.accept("{"):
            parts = [self._scalar()]
            while p.accept(","):
                parts.append(self._scalar())
            p.take("}")
            return tuple(parts)
        return self._scalar()

    def _address(self) -> PtxAddress:
        p = self.parser
        base = self._scalar()
        if not isinstance(base, Register | PtxSymbol | PtxNumber):
            p.fail("an address begins with a register, a name or a number")
        offset = p.integer() if p.accept("+") else 0
        p.take("]")
        return PtxAddress(base, offset)

    def _scalar(self) -> Scalar:
        p = self.parser
        if p.next == "-" or p.next[:1].isdigit():
            match = FLOAT.fullmatch(p.next)
            if match:
                p.take()
                return PtxNumber(int(match[2], 16), 32 if match[1] in "fF" else 64)
            return PtxNumber(p.integer())
        return self._word(p.take())

    def _word(self, word: str) -> Scalar:
        if word == "_":
            return Sink()
        for scope in reversed(self.scopes):
            if word in scope:
                return scope[word]
        match = re.fullmatch(r"(.*?)(\d+)", word)
        for level in reversed(range(len(self.families))):
            count, bits = self.families[level].get(match[1] if match else "", (0, 0))
            if match and int(match[2]) < count:
                return self._register(word, bits, level)
        if SPECIAL.fullmatch(word):
            return Special(word)
        if word.startswith("%"):
            self.parser.fail(f"{word} is not declared, and no special register known here")
        return PtxSymbol(word)
