"""The functions one module needs: asked for by name, collected, given back as LLVM text.

Nothing here calls libm or anything LLVM turns into a call, if the target has fused multiply-add,
rounding instructions and f16 conversions: x86-64-v3 (FMA, SSE4.1, F16C) and AArch64 have them.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...ir.opdef import merged
from ..llvm.builder import LlvmFunction, Writer, define
from . import exponential, power, trigonometric
from .conversion import ELEMENT, FLOATS, converter

FUNCTIONS: dict[str, LlvmFunction] = merged(
    {
        "exponential": exponential.FUNCTIONS,
        "power": power.FUNCTIONS,
        "trigonometric": trigonometric.FUNCTIONS,
    }
)
BOUNDS = {name: function.bound for name, function in FUNCTIONS.items()}
"""The greatest error of each function in ulp, by dtype; 0 means exact.

Measured on ten million arguments each, special and random, and rounded up; the tests hold them.
"""
MAX_LANES = 64


class Library:
    """Collects the functions a module uses; each is defined once, as `internal alwaysinline`.

    With one lane a function takes and returns scalars, else vectors. Small floats are their bits:
    f16 and bf16 in i16, f8 and f4 in i8; tf32 is a float. `scales` says that the target multiplies
    vectors by powers of two with one instruction; `linked` has the symbols of functions of scalars
    that the module is linked with later, by name and dtype.
    """

    def __init__(
        self, *, scales: bool = False, linked: Mapping[tuple[str, str], str] | None = None
    ) -> None:
        self._scales = scales
        self._linked = linked or {}
        self.used: dict[tuple[str, str], bool] = {}
        """The elementary functions asked for, and whether they are linked."""
        self._definitions: dict[str, str] = {}
        self._declarations: set[str] = set()

    def use(self, name: str, dtype_name: str, lanes: int) -> str:
        """Return the symbol of an elementary function, `@tw_exp_f32_x16`."""
        function = FUNCTIONS.get(name)
        if function is None or dtype_name not in function.write:
            raise KeyError(f"no function {name} of {dtype_name}; there are {', '.join(FUNCTIONS)}")
        parameters = (ELEMENT[dtype_name],) * function.arity
        linked = self._linked.get((name, dtype_name)) if lanes == 1 else None
        self.used[name, dtype_name] = linked is not None
        if linked is not None:
            self._declarations.add(f"declare {parameters[0]} {linked}({', '.join(parameters)})")
            return linked
        symbol = f"@tw_{name}_{dtype_name}_x{lanes}"
        return self._define(symbol, parameters, lanes, function.write[dtype_name])

    def convert(self, source: str, target: str, lanes: int) -> str:
        """Return the symbol of a conversion to a float type, `@tw_convert_f64_bf16_x16`."""
        if source not in ELEMENT or target not in FLOATS:
            raise KeyError(f"no conversion from {source} to {target}")
        symbol = f"@tw_convert_{source}_{target}_x{lanes}"
        return self._define(symbol, (ELEMENT[source],), lanes, converter(source, target))

    def _define(self, symbol: str, parameters: tuple[str, ...], lanes: int, write: Writer) -> str:
        if not 1 <= lanes <= MAX_LANES:
            raise ValueError(f"lanes must be in 1 .. {MAX_LANES}, got {lanes}")
        if symbol not in self._definitions:
            text, body = define(symbol, parameters, lanes, write, scales=self._scales)
            self._definitions |= body.helpers | {symbol: text}
            self._declarations |= body.declarations
        return symbol

    def definitions(self) -> str:
        """Return all functions (and constants) used so far, without the intrinsics they call."""
        return "\n".join(self._definitions.values())

    def declarations(self) -> set[str]:
        """Return the `declare` lines of those intrinsics; a module must have each only once."""
        return set(self._declarations)

    def text(self) -> str:
        """Return declarations and definitions, for a module that has no others."""
        return "\n".join([*sorted(self._declarations), "", self.definitions()])
