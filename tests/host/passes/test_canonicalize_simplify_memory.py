"""Known guards and masks; checks are not decided here."""

from __future__ import annotations

import pytest

from ir_text import expect, unchanged
from support.canonical import canonical
from tilewright.passes.canonicalize import canonicalize


@pytest.mark.parametrize("index", ["7", "-1", "3"])
def test_a_check_stays(index):
    unchanged(
        canonicalize,
        f"""
        %t = constant {{value=7, dtype=i32}}
        %i = constant {{value={index}, dtype=i32}}
        %ok = check %i, %t
        print %ok
        return
        """,
    )


def test_false_guards_and_true_asserts():
    expect(
        canonical,
        """
        %no = constant {dtype=bool}
        %yes = constant {value=True, dtype=bool}
        %v = make_view %z {tile=(4), dim_map=(0)}
        %a = load_view %v, %n, %no
        store_view %a, %v, %m, %no
        store_view %a, %v, %m, %yes
        assert %yes
        assert %c
        return
        """,
        """
        %v = make_view %z {tile=(4), dim_map=(0)}
        %5 = constant {dtype=f32, shape=(4)}
        store_view %5, %v, %m
        assert %c
        return
        """,
    )


def test_a_false_guard_with_other_padding_stays():
    unchanged(
        canonicalize,
        """
        %no = constant {dtype=bool}
        %v = make_view %z {tile=(4), dim_map=(0), padding=-inf}
        %a = load_view %v, %n, %no
        print %a
        return
        """,
    )


def test_masks_of_pointer_accesses():
    expect(
        canonical,
        """
        %yes = constant {value=True, dtype=bool}
        %no = constant {dtype=bool}
        %a = load_ptr %p, %yes, %f
        store_ptr %p, %a, %no
        store_ptr %p, %a, %yes
        return
        """,
        """
        %1 = load_ptr %p
        store_ptr %p, %1
        return
        """,
    )


def test_guards_of_elements():
    """False: nothing is loaded, and 0 is the result; true: no guard is needed."""
    expect(
        canonical,
        """
        %yes = constant {value=True, dtype=bool}
        %no = constant {dtype=bool}
        %a = load_slice %x, %n, %yes
        %b = load_slice %x, %n, %no
        %e = load_slice %x, %n, %c
        print %a, %b, %e
        return
        """,
        """
        %a = load_slice %x, %n
        %b = constant {dtype=f32}
        %e = load_slice %x, %n, %c
        print %a, %b, %e
        return
        """,
    )
