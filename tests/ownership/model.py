"""What ownership means, in a hundred plain lines: sets of elements, lists of borrows, no shortcuts.

An element is a number, the same one wherever it is seen from; so tensors that alias each other
have elements in common. A use ends every borrow it conflicts with, except those the user itself
came out of. Nothing else is ever decided here.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(eq=False)
class Borrow:
    """A view, a part, a partition or what an op was given: it stands until it is ended."""

    elements: frozenset[int]
    exclusive: bool
    parent: Borrow | None = None
    stands: bool = True

    def line(self) -> list[Borrow]:
        """This borrow and those it came out of."""
        return [self, *(self.parent.line() if self.parent else [])]


@dataclass(eq=False)
class Owner:
    """A variable that holds a tensor, or held it."""

    elements: frozenset[int]
    giver: Owner | None = None
    taker: Owner | None = None
    """Who took the tensor over, as long as it may come back."""
    lost: bool = False
    """Whether it was given away and work of the taker has run, or it went back."""
    given_up: bool = False
    """Whether work on it was refused: whoever uses the tensor next has it."""
    dropped: bool = False

    def has_it(self) -> bool:
        """Whether the tensor is here: never given away, or all who had it later are gone."""
        taker = self.taker
        return not self.lost and (taker is None or taker.given_up or taker.is_gone())

    def is_gone(self) -> bool:
        """Whether neither this variable nor anybody after it is left."""
        return self.dropped and self.has_it()


@dataclass
class Model:
    """All borrows of all elements, and which elements others see."""

    borrows: list[Borrow] = field(default_factory=list)
    leases: list[tuple[object, frozenset[int], bool]] = field(default_factory=list)

    def use(self, elements: frozenset[int], *, writes: bool, by: Borrow | None = None) -> None:
        """Elements are read or written, through a borrow or by the tensor's name."""
        line = by.line() if by else []
        for borrow in self.borrows:
            conflicts = bool(borrow.elements & elements) and (writes or borrow.exclusive)
            if conflicts and borrow not in line:
                borrow.stands = False

    def borrow(
        self, elements: frozenset[int], *, exclusive: bool, by: Borrow | None = None
    ) -> Borrow:
        """Borrowing is a use, and then stands until it is ended."""
        self.use(elements, writes=exclusive, by=by)
        new = Borrow(elements, exclusive, by)
        self.borrows.append(new)
        return new

    def take(self, owner: Owner) -> Owner:
        """The tensor moves to a new variable: nothing that was borrowed survives."""
        self.use(owner.elements, writes=True)
        owner.given_up = False  # who gives it away has it
        owner.taker = Owner(owner.elements, owner)
        return owner.taker

    def come_home(self, owner: Owner) -> None:
        """The first use of a tensor that came back is its return."""
        if owner.taker is not None and owner.has_it():
            owner.taker.lost, owner.taker = True, None
            self.use(owner.elements, writes=True)

    def work_ran(self, owner: Owner) -> None:
        """Work on a tensor makes all moves before it final."""
        owner.given_up = False
        while owner.giver is not None and not owner.giver.lost:
            owner.giver.lost, owner = True, owner.giver

    def was_refused(self, owner: Owner) -> None:
        """Work on a tensor that was given away was refused: it may go back."""
        if owner.taker is None and owner.giver is not None and not owner.giver.lost:
            owner.given_up = True

    def lend(self, user: object, elements: frozenset[int], *, exported: bool) -> None:
        """Another library sees a tensor; its elements are leased."""
        self.leases.append((user, elements, exported))

    def give_back(self, user: object) -> None:
        """The other library is done."""
        self.leases = [lease for lease in self.leases if lease[0] is not user]

    def is_seen(self, elements: frozenset[int]) -> bool:
        """Whether others see some of these elements, so that nobody writes them."""
        return any(seen & elements for _, seen, _ in self.leases)

    def is_exported(self, storage: frozenset[int]) -> bool:
        """Whether others may even write it, so that nobody takes it over."""
        return any(seen & storage for _, seen, exported in self.leases if exported)
