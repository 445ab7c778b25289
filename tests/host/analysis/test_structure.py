"""Nesting: owners, targets of terminators, and what leaves an op."""

from __future__ import annotations

from ir_text import kernel, parse
from tilewright.analysis.structure import structure

BODY = """
%one = constant {value=1, dtype=i32}
%s1 = scope : tile<i32> {
  %r = for %n, %m, %one, %k { (%i: tile<i32>, %a: tile<i32>)
    if %c {
      leave %a
    } else {
      if %d {
        break %i
      } else {
        return
      }
      yield
    }
    continue %a
  }
  leave %r
}
return
"""


def parts():
    func = parse(kernel(BODY))
    scope = func.body.ops[1]
    loop = scope.regions[0].ops[0]
    branch = loop.regions[0].ops[0]
    return func, structure(func), scope, loop, branch


def test_parents_blocks_and_owners():
    func, nesting, scope, loop, branch = parts()
    inner = branch.regions[1].ops[0]
    assert list(nesting.ancestors(inner)) == [branch, loop, scope]
    assert nesting.block[branch] is loop.regions[0]
    induction = loop.regions[0].args[0]
    assert nesting.owner[induction] is loop
    assert nesting.definer(induction) is None
    assert nesting.definer(loop.result) is loop
    assert nesting.definer(func.params[0]) is None


def test_terminators_find_their_targets():
    _, nesting, scope, loop, branch = parts()
    assert [e.name for e in nesting.exits[scope]] == ["leave", "leave"]
    assert [e.name for e in nesting.exits[loop]] == ["break", "continue"]
    assert len(nesting.exits[branch]) == 1
    assert len(nesting.returns) == 2


def test_inside_and_leaving():
    _, nesting, scope, loop, branch = parts()
    induction = loop.regions[0].args[0]
    assert nesting.inside(induction, loop)
    assert nesting.inside(loop.result, scope)
    assert not nesting.inside(loop.result, loop)
    assert sorted(e.name for e in nesting.leaves(loop)) == ["leave", "return"]
    assert [e.name for e in nesting.leaves(scope)] == ["return"]
    assert sorted(e.name for e in nesting.leaves(branch)) == ["break", "leave", "return"]
