"""Makes one test of a check of many subjects: a lint of a thousand files is no thousand tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Subject = TypeVar("Subject")


def for_each(subjects: Iterable[Subject]) -> Callable[[Callable[[Subject], None]], object]:
    """Decorate a check of one subject: the test checks all of them, and lists each that fails."""

    def decorate(check: Callable[[Subject], None]) -> Callable[[], None]:
        def test() -> None:
            failures = [*filter(None, (_failure(check, subject) for subject in subjects))]
            assert not failures, f"{len(failures)} failed:\n" + "\n".join(failures)

        test.__name__, test.__qualname__ = check.__name__, check.__qualname__
        test.__module__, test.__doc__ = check.__module__, check.__doc__
        return test

    return decorate


def _failure(check: Callable[[Subject], None], subject: Subject) -> str:
    """Check one subject, and return what failed; an error of another kind says of which it is."""
    try:
        check(subject)
    except AssertionError as error:
        return f"{subject}: {error}"
    except Exception as error:
        error.add_note(f"for {subject}")
        raise
    return ""
