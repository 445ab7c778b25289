"""Random sequences of uses, on tensors of our own and on aliases, against the model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, rule

import tilewright as tw
from ownership.kernels import neg
from ownership.model import Model, Owner
from support import tiers

SIZE = 8
SLICES = [slice(0, 8), slice(0, 4), slice(4, 8), slice(2, 6), slice(0, 8, 2), slice(1, 8, 2)]
HALVES = [slice(0, 2), slice(2, 4)]
TILE = (4,)


class Thing:
    """A real object, what the model has for it, and the variable it was borrowed from."""

    def __init__(self, real, fact, elements, owner):
        self.real, self.fact, self.elements, self.owner = real, fact, elements, owner


def ids(elements):
    return frozenset(elements)


def close(thing):
    """Drop an op on purpose, so that it does not warn."""
    if isinstance(thing.real, tw.DeviceOp):
        thing.real.close()


class Uses(RuleBasedStateMachine):
    owners, views, parts, ops, arrays = map(Bundle, ("owners", "views", "parts", "ops", "arrays"))

    def __init__(self):
        super().__init__()
        self.model = Model()
        self.storages = {}
        self.things = []
        self.array = np.zeros(SIZE + 4, "f4")

    def tensor(self, real, elements):
        thing = Thing(real, Owner(ids(elements)), elements, None)
        thing.owner = thing
        self.storages[thing.fact] = ids(elements)
        return thing

    def made(self, real, fact, elements, owner):
        thing = Thing(real, fact, elements, owner)
        self.things.append(thing)
        return thing

    def expect(self, allowed, act):
        """Do it; gives what came of it, or None where both refuse it."""
        if allowed:
            return act()
        with pytest.raises(tw.BorrowError):
            act()
        return None

    def storage(self, owner):
        root = owner.fact
        while root.giver is not None:
            root = root.giver
        return self.storages[root]

    @initialize(target=owners)
    def own(self):
        return self.tensor(tw.zeros((SIZE,)).sync(), range(SIZE))

    @initialize(target=owners)
    def low_alias(self):
        return self.tensor(tw.asarray(self.array[:SIZE]), range(100, 100 + SIZE))

    @initialize(target=owners)
    def high_alias(self):
        return self.tensor(tw.asarray(self.array[4:]), range(104, 104 + SIZE))

    # Variables

    @rule(owner=owners)
    def read(self, owner):
        if owner.real is None:
            return
        if owner.fact.has_it():
            self.model.come_home(owner.fact)
            self.model.use(owner.fact.elements, writes=False)
            owner.real.to_numpy()
        else:
            self.expect(False, owner.real.to_numpy)

    @rule(target=owners, owner=owners)
    def move(self, owner):
        if owner.real is None:
            return Thing(None, None, (), None)
        allowed = owner.fact.has_it()
        if allowed:
            self.model.come_home(owner.fact)
        allowed = allowed and not self.model.is_exported(self.storage(owner))
        real = self.expect(allowed, lambda: tw.move(owner.real))
        if real is None:
            return Thing(None, None, (), None)
        new = Thing(real, self.model.take(owner.fact), owner.elements, None)
        new.owner = new
        return new

    @rule(owner=owners)
    def drop(self, owner):
        """The variable is deleted, and all that was made of it but views."""
        if owner.real is not None:
            for thing in self.things:
                if thing.owner is owner:
                    close(thing)
                    thing.real = None
            owner.real, owner.fact.dropped = None, True

    # Borrows

    def borrowed(self, owner, act, fact):
        """What a method of a tensor gives, if the tensor is there."""
        if owner.real is None or not owner.fact.has_it():
            if owner.real is not None:
                self.expect(False, act)
            return Thing(None, None, (), owner)
        self.model.come_home(owner.fact)
        real, (borrow, elements) = act(), fact()
        return self.made(real, borrow, elements, owner)

    @rule(target=views, owner=owners, part=st.sampled_from(SLICES))
    def view(self, owner, part):
        elements = owner.elements[part]
        return self.borrowed(
            owner,
            lambda: owner.real[part],
            lambda: (self.model.borrow(ids(elements), exclusive=False), elements),
        )

    @rule(target=parts, owner=owners, part=st.sampled_from(SLICES))
    def part(self, owner, part):
        def fact():
            whole = self.model.borrow(owner.fact.elements, exclusive=True)
            elements = owner.elements[part]
            return self.model.borrow(ids(elements), exclusive=True, by=whole), elements

        return self.borrowed(owner, lambda: owner.real.borrow_mut()[part], fact)

    @rule(target=parts, part=parts, half=st.sampled_from(HALVES))
    def smaller(self, part, half):
        if part.real is None:
            return part
        elements = part.elements[half]
        real = self.expect(part.fact.stands, lambda: part.real[half])
        if real is None:
            return Thing(None, None, (), None)
        borrow = self.model.borrow(ids(elements), exclusive=True, by=part.fact)
        return self.made(real, borrow, elements, part.owner)

    @rule(view=views)
    def read_view(self, view):
        if view.real is not None:
            self.expect(view.fact.stands, view.real.to_numpy)
            if view.fact.stands:
                self.model.use(ids(view.elements), writes=False, by=view.fact)

    # Ops

    @rule(target=ops, owner=owners)
    def op_on_owner(self, owner):
        out = tw.empty((SIZE,)).sync().partition_mut(TILE)
        return self.borrowed(
            owner,
            lambda: neg(out, owner.real),
            lambda: (self.model.borrow(owner.fact.elements, exclusive=False), owner.elements),
        )

    @rule(target=ops, view=views)
    def op_on_view(self, view):
        if view.real is None:
            return view
        out = tw.empty((len(view.elements),)).sync().partition_mut(TILE)
        op = self.expect(view.fact.stands, lambda: neg(out, view.real))
        if op is None:
            return Thing(None, None, (), None)
        borrow = self.model.borrow(ids(view.elements), exclusive=False, by=view.fact)
        return self.made(op, borrow, view.elements, None)

    @rule(target=ops, part=parts)
    def op_on_part(self, part):
        if part.real is None or len(part.elements) < 4:
            return Thing(None, None, (), None)
        source = np.ones(len(part.elements), "f4")
        op = self.expect(part.fact.stands, lambda: neg(part.real.partition(TILE), source))
        if op is None:
            return Thing(None, None, (), None)
        elements = ids(part.elements)
        partition = self.model.borrow(elements, exclusive=True, by=part.fact)
        borrow = self.model.borrow(elements, exclusive=True, by=partition)
        return self.made(op, borrow, part.elements, part.owner)

    @rule(target=ops, owner=owners)
    def op_that_writes(self, owner):
        def fact():
            partition = self.model.borrow(owner.fact.elements, exclusive=True)
            borrow = self.model.borrow(owner.fact.elements, exclusive=True, by=partition)
            return borrow, owner.elements

        source = np.ones(SIZE, "f4")
        return self.borrowed(owner, lambda: neg(owner.real.partition_mut(TILE), source), fact)

    @rule(op=consumes(ops))
    def run(self, op):
        if op.real is None:
            return
        seen = op.fact.exclusive and self.model.is_seen(op.fact.elements)
        allowed = op.fact.stands and not seen
        self.expect(allowed, op.real.sync)
        if op.owner is not None:
            if allowed:
                self.model.work_ran(op.owner.fact)
            elif not op.fact.exclusive:
                self.model.was_refused(op.owner.fact)
        op.real = None

    # Leases

    @rule(target=arrays, owner=owners, export=st.booleans())
    def lend(self, owner, export):
        see = np.from_dlpack if export else np.asarray

        def fact():
            self.model.use(owner.fact.elements, writes=False)
            return None, owner.elements

        thing = self.borrowed(owner, lambda: see(owner.real), fact)
        if thing.real is not None:
            self.model.lend(thing, owner.fact.elements, exported=export)
            self.things.remove(thing)
        return thing

    @rule(array=consumes(arrays))
    def give_back(self, array):
        self.model.give_back(array)
        array.real = None

    def teardown(self):
        for thing in self.things:
            close(thing)


pytestmark = pytest.mark.cpu_alone  # aliases of arrays, views by NumPy
TestUses = Uses.TestCase
TestUses.settings = settings(
    max_examples=tiers.count(quick=200, full=2000), stateful_step_count=14, deadline=None,
    derandomize=False, suppress_health_check=list(HealthCheck),
)  # fmt: skip
