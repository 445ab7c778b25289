"""The declared ops: each says in one line what it computes, in one family only."""

from __future__ import annotations

import pytest

from support.acceptance import accepted
from tilewright.ir.opdef import Effect
from tilewright.ir.ops import FAMILIES, OPS


def test_no_name_is_declared_twice():
    assert sum(map(len, FAMILIES.values())) == len(OPS)


@pytest.mark.parametrize("name", sorted(OPS))
def test_declaration(name):
    op = OPS[name]
    assert op.doc.endswith(".")
    assert op.dialect in ("core", "tile", "simt")
    operands = [o.name for o in op.operands]
    assert len(set(operands)) == len(operands)
    assert not op.terminator or op.effects & Effect.CONTROL
    optional = [o.arity for o in op.operands]
    assert optional == sorted(optional, key=("", "*", "?").index), "required operands come first"


def test_memory_ops_have_a_twin_with_a_token():
    touching = {n for n, op in OPS.items() if op.effects & (Effect.READ | Effect.WRITE)}
    # Kernels of threads never go where order is spelled out.
    touching = {n for n in touching if OPS[n].dialect != "simt"}
    plain = {n for n in touching if not n.endswith("_tko")}
    assert touching - plain == {f"{n}_tko" for n in plain}


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_accepted(family, golden):
    """A change of what a rule refuses, or of the types it returns, is a change of these texts."""
    golden("\n".join(accepted(op).text() for op in FAMILIES[family]), family)
