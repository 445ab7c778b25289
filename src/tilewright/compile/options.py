"""Options of a compilation: hints, the key of the cache, and differences between keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, NoReturn, TypeAlias, cast

from ..backend.tileir.target import ARCHITECTURES, CodegenHints, is_architecture
from ..base.config import CHECKS
from ..base.errors import Code, CompileError
from ..base.messages import number_text
from ..base.trees import is_tuple
from ..ir.signature import ParamSpec, Signature, constant_kind

# -------------------------------------------------------------------------------------------------
# Options of a launch.


class Stops(NamedTuple):
    """The block, and of a SIMT kernel the thread, that a debugger follows; None: any."""

    block: tuple[int, ...] | None = None
    thread: tuple[int, ...] | None = None


CAN_STOP = "reference"
"""The target whose code stops for debuggers."""


@dataclass(frozen=True, slots=True)
class CompileOptions(CodegenHints):
    """Hints for the code generator, most of them for CUDA; None leaves the decision to it.

    `occupancy`, `num_cta_in_cga` and `num_worker_warps_per_cta` are hints on the kernel;
    `allow_tma` and `latency` apply to all tile accesses without an explicit value.
    `max_divisibility` limits the assumed divisibility of addresses and strides, in bytes;
    `block_group` is the number of blocks of a matrix product that run together for cache reuse, 1
    for launch order. `whole_first` uses an unpadded fast path for tiles that are in bounds;
    `async_loads` loads the tiles of loops by the addresses of their elements, which the assembler
    makes asynchronous copies, several iterations ahead. `register_operands` transposes products
    whose second operand is computed, so that it stays in registers.
    `needed_precision=False` keeps functions as exact as those of f32 where only 16 bits of a result
    are used, on every device. `stops` says where a debugger stops; see `tw.debug`. `checks` is for
    tests and measurements: `pinned` keeps the remaining checks at their accesses, `forced` keeps
    all of them there.

    >>> CompileOptions(occupancy=2).occupancy
    2
    """

    needed_precision: bool | None = None
    checks: str | None = None
    stops: Stops | None = None

    def __post_init__(self) -> None:
        _check("occupancy", self.occupancy, tuple(range(1, 33)))
        _check("num_cta_in_cga", self.num_cta_in_cga, (1, 2, 4, 8, 16))
        _check("num_worker_warps_per_cta", self.num_worker_warps_per_cta, (1, 2, 4, 8, 16, 32))
        _check("max_divisibility", self.max_divisibility, (1, 2, 4, 8, 16))
        _check("latency", self.latency, tuple(range(1, 11)))
        _check("block_group", self.block_group, tuple(range(1, 65)))
        if self.checks not in (None, *CHECKS):
            raise ValueError(f"checks must be one of {', '.join(CHECKS)}, got {self.checks!r}")

    @property
    def given(self) -> dict[str, Any]:
        """The options that are set, by name."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def over(self, other: CompileOptions) -> CompileOptions:
        """Return these options, completed by others where they leave a choice open.

        >>> CompileOptions(occupancy=2).over(CompileOptions(occupancy=4, latency=3)).given
        {'occupancy': 2, 'latency': 3}
        """
        return replace(other, **self.given)

    @property
    def codegen_hints(self) -> CodegenHints:
        """The same for the backend, which knows no options."""
        return CodegenHints(**{f.name: getattr(self, f.name) for f in fields(CodegenHints)})


def _check(name: str, value: int | None, allowed: tuple[int, ...]) -> None:
    if value is not None and value not in allowed:
        shown = f"1 to {allowed[-1]}" if len(allowed) > 6 else ", ".join(map(str, allowed))
        raise ValueError(f"{name} must be one of {shown}, got {number_text(value)}")


PLAIN = CompileOptions()
"""No hints."""


# -------------------------------------------------------------------------------------------------
# Hints that a kernel carries from its definition, for each CUDA architecture.

GivenHints: TypeAlias = CompileOptions | Mapping[str, CompileOptions] | None
"""What `@tw.entry(hints=...)` takes."""

OTHERWISE = "default"
"""The key of what holds on every architecture that does not say otherwise."""

EXAMPLE = 'write hints=tw.CompileOptions(...), or hints={"sm_90": tw.CompileOptions(...)}'


@dataclass(frozen=True, slots=True)
class Hints:
    """Options for all CUDA architectures, and overrides for single ones."""

    otherwise: CompileOptions = PLAIN
    by_arch: Mapping[str, CompileOptions] = field(default_factory=dict[str, CompileOptions])

    @classmethod
    def of(cls, kernel: str, given: GivenHints) -> Hints:
        """Return the hints of a kernel as its decorator received them."""
        if given is None:
            return NO_HINTS
        listed = _listed(kernel, given)
        for arch, options in listed.items():
            _check_hint(kernel, arch, options)
        return cls(listed.pop(OTHERWISE, PLAIN), listed)

    def on(self, target: str) -> CompileOptions:
        """Return the options that apply to a target; the host has none."""
        if not is_architecture(target):
            return PLAIN
        return self.by_arch.get(target, PLAIN).over(self.otherwise)

    def origins(self, options: CompileOptions, target: str) -> list[str]:
        """Return which options of a compilation are hints of the kernel, and which of a launch."""
        if not is_architecture(target):
            return []
        given, hinted = options.given, self.on(target).given
        ours = {name: value for name, value in given.items() if hinted.get(name) == value}
        others = {name: value for name, value in given.items() if name not in ours}
        sources = (("where the kernel is defined", ours), ("by the launch", others))
        return [f"requested {source}: {_shown(asked)}" for source, asked in sources if asked]


NO_HINTS = Hints()


def _shown(asked: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in asked.items())


def _listed(kernel: str, given: object) -> dict[str, CompileOptions]:
    """Return hints by architecture, unchecked."""
    if isinstance(given, CompileOptions):
        return {OTHERWISE: given}
    if isinstance(given, Mapping):
        return dict(cast("Mapping[str, CompileOptions]", given))
    _refuse(
        f"the hints of `{kernel}` are not options",
        expected="a tw.CompileOptions, or a mapping from architectures to them",
        got=repr(given),
        hint=EXAMPLE,
    )


def _check_hint(kernel: str, arch: object, options: object) -> None:
    if arch != OTHERWISE and arch not in ARCHITECTURES:
        _refuse(
            f"`{kernel}` has hints for an unknown architecture",
            expected=", ".join((*ARCHITECTURES, OTHERWISE)),
            got=repr(arch),
            hint=f"{OTHERWISE!r} is for all architectures without an entry",
        )
    if not isinstance(options, CompileOptions):
        _refuse(
            f"the hints of `{kernel}` for {arch} are not options",
            expected="a tw.CompileOptions",
            got=repr(options),
            hint=EXAMPLE,
        )
    if options.checks is not None:
        # The host would have to follow it too, and these are for CUDA alone.
        _refuse(
            f"the hints of `{kernel}` cannot set the placement of its checks",
            expected="hints for CUDA",
            got=f"checks={options.checks!r}",
            hint=f"set it for a launch: {kernel}(...).compile_options(checks={options.checks!r})",
        )


def _refuse(message: str, *, expected: str, got: str, hint: str) -> NoReturn:
    raise CompileError(message, code=Code.CALL, expected=expected, got=got, hint=hint)


# -------------------------------------------------------------------------------------------------
# The cache key: all inputs of a compilation as one record, and the difference of two records.


@dataclass(frozen=True, slots=True)
class Key:
    """All inputs of the code of one kernel, except captured names."""

    signature: Signature
    target: str
    options: CompileOptions
    kinds: tuple[object, ...] = ()
    """What the constants are besides their values: True and 1 are equal, but not the same."""

    @classmethod
    def of(cls, signature: Signature, target: str, options: CompileOptions) -> Key:
        """Return the key of a compilation."""
        kinds = tuple([constant_kind(value) for _, value in signature.constants])
        return cls(signature, target, options, kinds)


def differences(old: Key, new: Key) -> list[str]:
    """Return each fact in which two keys differ, as `name: old -> new`."""
    found: list[str] = []
    before = {p.name: p for p in old.signature.params}
    now = {p.name: p for p in new.signature.params}
    for name in {**before, **now}:
        if name in before and name in now:
            found += _param(before[name], now[name])
        else:
            found.append(f"{name}: given -> None" if name in before else f"{name}: None -> given")
    constants = dict(old.signature.constants)
    for name, value in new.signature.constants:
        if repr(constants.get(name)) != repr(value):
            found.append(f"constant {name}: {constants.get(name)!r} -> {value!r}")
    facts: tuple[tuple[str, object, object], ...] = (
        ("const_grid", old.signature.grid, new.signature.grid),
        ("grid rank", old.signature.grid_rank, new.signature.grid_rank),
        ("target", old.target, new.target),
        ("options", old.options, new.options),
    )
    return found + [f"{what}: {a} -> {b}" for what, a, b in facts if a != b]


def _param(a: ParamSpec, b: ParamSpec) -> list[str]:
    if type(a) is not type(b):
        return [f"{a.name}: {type(a).__name__} -> {type(b).__name__}"]
    names = [f.name for f in fields(a) if f.name != "name"]
    pairs = [(name, getattr(a, name), getattr(b, name)) for name in names]
    return [f"{b.name}.{n}: {_text(x)} -> {_text(y)}" for n, x, y in pairs if x != y]


def _text(value: object) -> str:
    if is_tuple(value):
        inner = ", ".join("?" if v is None else str(v) for v in value)
        return f"({inner})"
    return str(value)
