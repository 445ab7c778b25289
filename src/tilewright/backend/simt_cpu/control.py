"""Control flow of lanes: uniform fast path, masks where threads diverge, unmasked iterations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...base.dtypes import i32, int_range
from ...ir.attrs import Predicate, ThreadCoordinate
from ...ir.core import Block, Op, Value
from ...ir.opdef import Trait
from ...ir.ops.control import CONTINUE, FOR, IF, PRINT, YIELD
from ...ir.ops.elementwise import ANDI, CMPI, DIVI, REMF, REMI
from ...ir.ops.memory import ATOMICS_OPS
from ...ir.ops.simt import ATOMIC_SHARED, CHECK_INDEX, LOAD_SHARED, PLACE, STORE_SHARED
from ..cpu.emit.control import Rounds, enter, look_up, most_rounds
from ..llvm.builder import Vec, any_lane, where
from .barriers import STREAMED, is_rematerialized
from .machine import Lanes, Leave, Write

# -------------------------------------------------------------------------------------------------
# Uniform fast path: detect when all lanes of a group take one branch, and emit it without masks.
#
# Two scalars then decide whether all lanes take it, and whether the checks inside hold for all of
# them; code for that case needs neither masks nor checks.

ACCESSES = (*STREAMED, LOAD_SHARED, STORE_SHARED, ATOMIC_SHARED)
"""What is worth having twice."""
LAST = int_range(i32)[1]
COMPARE: dict[Predicate, Callable[[Vec, Vec, Vec], Vec]] = {
    Predicate.LT: lambda first, last, limit: last < limit,
    Predicate.LE: lambda first, last, limit: limit >= last,
    Predicate.GT: lambda first, last, limit: (first > limit) & (last < LAST),
    Predicate.GE: lambda first, last, limit: (first >= limit) & (last < LAST),
}
"""Whether a comparison holds for all numbers of a row, which are 64-bit here and do not wrap."""


def uniform_first_arm(lanes: Lanes, op: Op, span: int) -> tuple[Vec, dict[Value, bool]] | None:
    """Return whether all lanes take the first arm of an `if`, and the facts then; None if unknown.

    Rows have `span` threads: those of the group, or more. Nothing is asked where masks are needed
    anyway, or where they cost nothing.
    """
    region = op.regions[0]
    if lanes.live is not None or not any(o.is_a(*ACCESSES) for o in region.ops):
        return None
    tests = _tests(lanes, op.one("cond"), span)
    if tests is None:
        return None
    known = {op.one("cond"): True}
    for check in row_checks(lanes, region.ops):
        tests += check_tests(lanes, check, span)
        known[check.result] = True
    return lanes.emitter.any_of(tests), known


def check_tests(lanes: Lanes, check: Op, span: int) -> list[Vec]:
    """Return scalars that all hold if a check of a row does for all its threads."""
    first, last = _ends(lanes, check.one("index"), span)
    return [first >= 0, last < lanes.scalar(check.one("length")).cast("sext", "i64")]


def _ends(lanes: Lanes, row: Value, span: int) -> tuple[Vec, Vec]:
    """Return the numbers of the first and of the last thread."""
    first = lanes.rows[row].cast("sext", "i64")
    return first, first + (span - 1)


def _is_row(lanes: Lanes, value: Value) -> bool:
    return value in lanes.rows and value not in lanes.gaps


def _tests(lanes: Lanes, cond: Value, span: int) -> list[Vec] | None:
    """Return scalars that all hold if a condition holds in all lanes; None if there are none."""
    made = lanes.nesting.definer(cond)
    if cond not in lanes.facts.varying:
        return [lanes.scalar(cond)]
    if made is None or not made.is_a(ANDI, CMPI):
        return None
    if made.is_a(CMPI):
        return _compared(lanes, made, span)
    parts = [_tests(lanes, v, span) for v in made.operands]
    return None if None in parts else [test for part in parts for test in part or []]


def _compared(lanes: Lanes, op: Op, span: int) -> list[Vec] | None:
    row, limit = op.operands
    predicate = Predicate(op.attrs["predicate"])
    # The row may be on the right: swap the predicate.
    if limit in lanes.rows:
        row, limit, predicate = limit, row, predicate.swapped
    if not _is_row(lanes, row) or limit in lanes.facts.varying or predicate not in COMPARE:
        return None
    first, last = _ends(lanes, row, span)
    # A row is affine with step 1, so its first and last lane decide for all of them.
    return [COMPARE[predicate](first, last, lanes.scalar(limit).cast("sext", "i64"))]


def row_checks(lanes: Lanes, ops: Sequence[Op]) -> list[Op]:
    """Return the row checks whose index and length are already computed."""
    return [
        op for op in ops
        if op.is_a(CHECK_INDEX) and _is_row(lanes, op.one("index"))
        and op.one("length") in lanes.names and op.one("length") not in lanes.facts.varying
    ]  # fmt: skip


# -------------------------------------------------------------------------------------------------
# Control flow of lanes: uniform branches and loops, and predication where threads diverge.

LIGHT = 24
"""So many cheap ops are rather computed for nothing than jumped over."""
HEAVY = (DIVI, REMI, REMF, PRINT, *ATOMICS_OPS)


# --- branches ------------------------------------------------------------------------------------


def _if(lanes: Lanes, op: Op) -> None:
    cond = op.one("cond")
    if cond in lanes.known:
        _taken(lanes, op, op.regions[0 if lanes.known[cond] else 1])
    elif cond in lanes.facts.varying:
        # With an exit inside, the set of live lanes differs between the two versions.
        inside = uniform_first_arm(lanes, op, lanes.width) if _keeps_live(lanes, op) else None
        if inside is None:
            _divergent_if(lanes, op)
        else:
            _multi_versioned_if(lanes, op, *inside)
    else:
        _uniform_if(lanes, op)


def _taken(lanes: Lanes, op: Op, region: Block) -> None:
    """Emit a branch that all lanes are known to take."""
    if not lanes.run(region):
        lanes.emitter.body.label(lanes.emitter.label("never"))
    elif region.terminator.is_a(YIELD):
        for result, value in zip(op.results, region.terminator.operands, strict=True):
            lanes.put(result, lanes.get(value))


def _uniform_if(lanes: Lanes, op: Op) -> None:
    """Emit a uniform branch."""
    emitter, body = lanes.emitter, lanes.emitter.body
    slots = [lanes.slot(result) for result in op.results]
    outer, kept = lanes.live, _keeps_live(lanes, op)
    live = None if kept else emitter.slot("i1", lanes.width)
    then, orelse, after = (emitter.label(word) for word in ("then", "else", "after"))
    emitter.branch(lanes.scalar(op.one("cond")), then, orelse)
    for label, region in zip((then, orelse), op.regions, strict=True):
        body.label(label)
        lanes.live = outer
        if lanes.run(region):
            _yield(lanes, op, region, slots)
            if live is not None:
                emitter.store(lanes.mask(), live)
            body.jump(after)
    body.label(after)
    lanes.live = outer if live is None else emitter.load(live, "i1", lanes.width)
    for result, slot in zip(op.results, slots, strict=True):
        lanes.names[result] = lanes.load(slot, result)


def _yield(lanes: Lanes, op: Op, region: Block, slots: list[Vec]) -> None:
    if not region.terminator.is_a(YIELD):
        return
    for result, value, slot in zip(op.results, region.terminator.operands, slots, strict=True):
        lanes.emitter.store(lanes.emitter.splat(lanes.get(value), lanes.lanes(result)), slot)


def _multi_versioned_if(lanes: Lanes, op: Op, whole: Vec, known: dict[Value, bool]) -> None:
    """Emit both versions: all lanes take the first arm together, or each arm is masked."""
    emitter, body = lanes.emitter, lanes.emitter.body
    slots = [lanes.slot(result) for result in op.results]
    together, apart, after = (emitter.label(word) for word in ("whole", "apart", "after"))
    before = dict(lanes.known)
    emitter.branch(whole, together, apart)
    body.label(together)
    lanes.known = {**before, **known}
    lanes.run(op.regions[0])
    _yield(lanes, op, op.regions[0], slots)
    body.jump(after)
    body.label(apart)
    # What the other version has made is not there in this one.
    lanes.known, lanes.live = before, None
    _divergent_if(lanes, op)
    lanes.live = None
    for result, slot in zip(op.results, slots, strict=True):
        emitter.store(lanes.get(result), slot)
    body.jump(after)
    body.label(after)
    for result, slot in zip(op.results, slots, strict=True):
        lanes.names[result] = lanes.load(slot, result)


def _divergent_if(lanes: Lanes, op: Op) -> None:
    """Emit a divergent branch: each arm runs masked for its lanes."""
    outer, cond = lanes.live, lanes.wide(op.one("cond"))
    sides = (cond, cond ^ 1)
    ends: list[Vec | None] = []
    given: list[list[Vec] | None] = []
    for side, region in zip(sides, op.regions, strict=True):
        lanes.live = outer
        # Predication (if-conversion): both arms are emitted in sequence, each under its mask.
        lanes.live = lanes.narrowed(side)
        given.append(_side(lanes, op, region))
        ends.append(lanes.live)
    if _keeps_live(lanes, op):
        lanes.live = outer
    else:
        first, second = (end if end is not None else lanes.all() for end in ends)
        lanes.live = first | second
    _choose(lanes, op, cond, given)


def _choose(lanes: Lanes, op: Op, cond: Vec, given: list[list[Vec] | None]) -> None:
    yes, no = given
    for k, result in enumerate(op.results):
        if yes is None or no is None:
            side = yes or no
            lanes.put(result, lanes.emitter.literal(result.tile.elem, 0, 1) if side is None
                      else side[k])  # fmt: skip
        else:
            lanes.put(result, where(cond, yes[k], no[k]))


def _side(lanes: Lanes, op: Op, region: Block) -> list[Vec] | None:
    """Return the value of one arm in all lanes; None if control never returns from it."""
    comes_back = region.terminator.is_a(YIELD)
    if _is_light(region):
        lanes.run(region)
        return [lanes.wide(v) for v in region.terminator.operands] if comes_back else None
    emitter, body = lanes.emitter, lanes.emitter.body
    slots = [lanes.slot(result) for result in op.results]
    for result, slot in zip(op.results, slots, strict=True):
        emitter.store(emitter.literal(result.tile.elem, 0, lanes.lanes(result)), slot)
    entered = lanes.live
    live = None if _leaves_none(lanes, region) else emitter.slot("i1", lanes.width)
    if live is not None:
        emitter.store(lanes.mask(), live)
    inside, after = emitter.label("some"), emitter.label("after")
    # A long arm is skipped if no lane takes it.
    emitter.branch(lanes.any_live(), inside, after)
    body.label(inside)
    lanes.run(region)
    _yield(lanes, op, region, slots)
    if live is not None:
        emitter.store(lanes.mask(), live)
    body.jump(after)
    body.label(after)
    lanes.live = entered if live is None else emitter.load(live, "i1", lanes.width)
    pairs = zip(slots, op.results, strict=True)
    return [lanes.load(slot, result) for slot, result in pairs] if comes_back else None


def _is_light(region: Block) -> bool:
    ops = list(region.walk())
    return len(ops) <= LIGHT and not any(
        o.has(Trait.MATH | Trait.LOOP) or o.is_a(*HEAVY) for o in ops
    )


def _keeps_live(lanes: Lanes, op: Op) -> bool:
    """Return whether the same lanes are live behind an op as before it."""
    return all(end.is_a(YIELD) for end in lanes.nesting.leaves(op))


def _leaves_none(lanes: Lanes, region: Block) -> bool:
    held = set(region.walk())
    jumps = [op for op in held if op.defn.terminator and not op.is_a(YIELD)]
    return all(lanes.nesting.target.get(op) in held for op in jumps)


# --- loops ---------------------------------------------------------------------------------------


def _loop(lanes: Lanes, op: Op) -> None:
    if op in lanes.facts.split:
        _divergent_loop(lanes, op, None)
    else:
        _uniform_loop(lanes, op, None)


def _for(lanes: Lanes, op: Op) -> None:
    trips = trip_count(lanes, op)
    if op in lanes.facts.split:
        _divergent_loop(lanes, op, trips)
    else:
        _uniform_loop(lanes, op, trips)


def trip_count(lanes: Lanes, op: Op) -> Vec:
    """Return the trip count of a `for`, so that a bound near the end of its type is safe."""
    bounds = op.operands[:3]
    width = max(lanes.get(v).lanes for v in bounds)
    lower, upper, step = (lanes.emitter.splat(lanes.get(v).frozen(), width) for v in bounds)
    signed = bounds[0].tile.dtype.is_signed
    runs = lower.compare("", "slt" if signed else "ult", upper)
    runs = runs & (step > 0 if signed else step.ne(0))
    # (upper - lower - 1) / step + 1 is exact in unsigned arithmetic for every pair of bounds; the
    # select avoids a division by 0 in loops that do not run.
    safe = where(runs, step, step.like(1))
    trips = (upper - lower - 1).binary("udiv", safe) + 1
    return where(runs, trips, trips.like(0))


def _begin(lanes: Lanes, op: Op) -> list[Vec]:
    """Return the slots of carried values, which also hold the results at the end."""
    slots = [lanes.slot(result) for result in op.results]
    for slot, result, init in zip(slots, op.results, op.all("init"), strict=True):
        lanes.emitter.store(lanes.emitter.splat(lanes.get(init), lanes.lanes(result)), slot)
    return slots


def _carry(lanes: Lanes, op: Op, slots: list[Vec]) -> None:
    """Bind the arguments of a loop's body to the contents of the slots."""
    body = op.regions[0]
    args = body.args[1:] if op.is_a(FOR) else body.args
    for arg, result, slot in zip(args, op.results, slots, strict=True):
        held = lanes.load(slot, result)
        if lanes.lanes(arg) < held.lanes:  # the same in every iteration, but not where it ends
            held = lanes.emitter.body.emit(f"extractelement {held}, i64 0", held.elem, 1)
        lanes.put(arg, held)


def bind_iteration(lanes: Lanes, op: Op, counter: Vec, kind: str) -> Vec:
    """Bind the variable of a `for`; return the number of the iteration."""
    count = lanes.emitter.load(counter, kind)
    lower, step = (lanes.get(v) for v in (op.one("lower"), op.one("step")))
    width = max(lower.lanes, step.lanes)
    at = (lanes.emitter.splat(v, width) for v in (lower, count, step))
    first, number, by = at
    variable, start, by_value = op.regions[0].args[0], op.one("lower"), op.one("step")
    lanes.put(variable, first + number * by)
    if start in lanes.rows and variable.tile.dtype is i32 and by_value not in lanes.facts.varying:
        # As in `for i in range(index, n, threads)`: adjacent lanes have adjacent numbers.
        lanes.rows[variable] = lanes.rows[start] + count * lanes.scalar(by_value)
        if start in lanes.gaps:
            lanes.gaps.add(variable)
    return count


def _uniform_loop(lanes: Lanes, op: Op, trips: Vec | None) -> None:
    """Emit a loop whose iterations are the same in all lanes."""
    emitter, body = lanes.emitter, lanes.emitter.body
    slots = _begin(lanes, op)
    head, inside, again, done = (emitter.label(w) for w in ("loop", "body", "next", "done"))
    counter, turns, outer = None, None, emitter.unseen
    if trips is None:
        enter(emitter)
    else:
        counter = emitter.slot(trips.elem)
        emitter.store(trips.like(0), counter)
        turns = Rounds(emitter, op, trips, _bounds(lanes, op))
    entered = lanes.live

    def leave(lanes: Lanes, end: Op) -> bool:
        for slot, result, value in zip(slots, op.results, end.operands, strict=True):
            emitter.store(emitter.splat(lanes.get(value), lanes.lanes(result)), slot)
        body.jump(again if end.is_a(CONTINUE) else done)
        return False

    body.jump(head)
    body.label(head)
    if trips is not None and counter is not None and turns is not None:
        count = bind_iteration(lanes, op, counter, trips.elem)
        turns.begin(count, inside, done)
    else:
        body.jump(inside)
    body.label(inside)
    _carry(lanes, op, slots)
    _inside(lanes, op, leave)
    body.label(again)
    if counter is not None and trips is not None:
        emitter.store(emitter.load(counter, trips.elem) + 1, counter)
    if turns is None:
        look_up(emitter, outer)
    else:
        turns.end()
    body.jump(head)
    body.label(done)
    lanes.live = entered
    for result, slot in zip(op.results, slots, strict=True):
        lanes.names[result] = lanes.load(slot, result)


def _bounds(lanes: Lanes, op: Op) -> list[Vec]:
    return [lanes.get(v) for v in op.operands[:3]]


def _inside(lanes: Lanes, op: Op, leave: Leave) -> bool:
    outer = lanes.exits.get(op)
    lanes.exits[op] = leave
    goes_on = lanes.run(op.regions[0])
    if outer is not None:
        lanes.exits[op] = outer
    return goes_on


def _divergent_loop(lanes: Lanes, op: Op, trips: Vec | None) -> None:
    """Emit a divergent loop: lanes leave one by one; it runs while any lane is left."""
    emitter, body, width = lanes.emitter, lanes.emitter.body, lanes.width
    slots = _begin(lanes, op)
    # Masks of the lanes that run this iteration, that continue with the next one, and that have
    # left the loop. Carried values are blended under the mask, so a lane keeps those of its last
    # iteration.
    alive, onward, left = (emitter.slot("i1", width) for _ in range(3))
    emitter.store(lanes.mask(), alive)
    emitter.store(lanes.none(), left)
    counter = None
    if trips is not None:
        counter = emitter.slot(trips.elem)
        emitter.store(emitter.body.constant(trips.elem, 1, 0), counter)
    head, inside, done = (emitter.label(word) for word in ("loop", "body", "done"))

    def leave(lanes: Lanes, end: Op) -> bool:
        for slot, result, value in zip(slots, op.results, end.operands, strict=True):
            lanes.blend(slot, result, lanes.get(value))
        mask = onward if end.is_a(CONTINUE) else left
        emitter.store(emitter.load(mask, "i1", width) | lanes.mask(), mask)
        lanes.live = lanes.none()
        return True

    body.jump(head)
    body.label(head)
    lanes.live = emitter.load(alive, "i1", width)
    if trips is not None and counter is not None:
        count = bind_iteration(lanes, op, counter, trips.elem)
        more = emitter.splat(count, trips.lanes).compare("", "ult", trips)
        # Trip counts may differ per lane; a lane whose count is reached leaves here.
        _finish(lanes, left, emitter.splat(more, width))
        emitter.store(count + 1, counter)
    emitter.store(lanes.none(), onward)
    emitter.branch(any_lane(lanes.mask()), inside, done)
    body.label(inside)
    outer = enter(emitter)
    _carry(lanes, op, slots)
    if _inside(lanes, op, leave):
        emitter.store(emitter.load(onward, "i1", width), alive)
        known = None if trips is None else most_rounds(trips.elem, *_bounds(lanes, op))
        look_up(emitter, outer, known)
        body.jump(head)
    body.label(done)
    lanes.live = emitter.load(left, "i1", width)
    for result, slot in zip(op.results, slots, strict=True):
        lanes.names[result] = lanes.load(slot, result)


def _finish(lanes: Lanes, left: Vec, more: Vec) -> None:
    """Emit the end of a `for`: lanes without further iterations leave the loop."""
    emitter, live = lanes.emitter, lanes.mask()
    over = live & (more ^ 1)
    emitter.store(emitter.load(left, "i1", lanes.width) | over, left)
    lanes.live = live & more


# --- scopes --------------------------------------------------------------------------------------


def _scope(lanes: Lanes, op: Op) -> None:
    emitter, body = lanes.emitter, lanes.emitter.body
    slots = [lanes.slot(result) for result in op.results]
    split, entered = op in lanes.facts.split, lanes.live
    left = emitter.slot("i1", lanes.width)
    done = emitter.label("left")
    if split:
        emitter.store(lanes.none(), left)
        for slot, result in zip(slots, op.results, strict=True):
            emitter.store(emitter.literal(result.tile.elem, 0, lanes.lanes(result)), slot)

    def leave(lanes: Lanes, end: Op) -> bool:
        for slot, result, value in zip(slots, op.results, end.operands, strict=True):
            if split:
                lanes.blend(slot, result, lanes.get(value))
            else:
                emitter.store(emitter.splat(lanes.get(value), lanes.lanes(result)), slot)
        if not split:
            body.jump(done)
            return False
        emitter.store(emitter.load(left, "i1", lanes.width) | lanes.mask(), left)
        lanes.live = lanes.none()
        return True

    if _inside(lanes, op, leave):
        body.jump(done)
    body.label(done)
    lanes.live = emitter.load(left, "i1", lanes.width) if split else entered
    for result, slot in zip(op.results, slots, strict=True):
        lanes.names[result] = lanes.load(slot, result)


TABLE: dict[str, Write] = {"if": _if, "for": _for, "loop": _loop, "scope": _scope}


# -------------------------------------------------------------------------------------------------
# Unmasked loop iterations: those in which all threads of the block are in bounds.
#
# The threads of a block that is one row are compared with a number by two scalars, as those of a
# group are; a fact about all of them then needs no test in any group. The compared numbers depend
# on the position of the block only, so they are computed before any group runs.


def all_in_bounds(
    front: Lanes, ops: Sequence[Op], span: int
) -> tuple[Vec, dict[Value, bool]] | None:
    """Return whether all threads take the first arms of a phase's branches, and the facts then.

    None if there is nothing to test.

    `front` is the block's first group, with what is the same in all threads of the block as
    scalars; `span` is how many threads follow each other from there on.
    """
    tests: list[Vec] = []
    known: dict[Value, bool] = {}
    for op in ops:
        if op.is_a(IF) and front.facts.varies(op.one("cond")):
            checks = [held for held in op.regions[0].ops if held.is_a(CHECK_INDEX)]
            for value in (op.one("cond"), *(v for check in checks for v in check.operands)):
                _follows(front, value)
            inside = uniform_first_arm(front, op, span)
            if inside is not None:
                tests.append(inside[0])
                known |= inside[1]
        elif op.is_a(CHECK_INDEX) and all(_follows(front, v) for v in op.operands):
            for check in row_checks(front, [op]):
                tests += check_tests(front, check, span)
                known[check.result] = True
    return (front.emitter.any_of(tests), known) if tests else None


def _follows(front: Lanes, value: Value) -> bool:
    """Emit a number that depends on the block position only; return whether it does."""
    if value in front.names or value in front.emitter.tensors:
        return True
    made = front.nesting.definer(value)
    if made is None or not is_rematerialized(made) or _starts_again(made):
        return False
    if not all(_follows(front, operand) for operand in made.operands):
        return False
    front.table[made.name](front, made)
    return True


def _starts_again(op: Op) -> bool:
    """Return whether an op counts the threads of each group from zero."""
    return op.is_a(PLACE) and op.attrs["what"] is ThreadCoordinate.LANE
