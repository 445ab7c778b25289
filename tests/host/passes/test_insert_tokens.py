"""Tokens: what is chained and how, and that every pair of accesses that matters is ordered."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from ir_text import apply, expect, kernel, unchanged
from support.cuda import cuda_ir
from support.programs import program, same_meaning_always
from support.tokens import Reach, touched, unordered
from tilewright import f32
from tilewright.ir.opdef import Effect
from tilewright.passes.canonicalize import canonicalize
from tilewright.passes.dce import dce
from tilewright.passes.insert_tokens import insert_tokens
from tilewright.passes.lower_control_flow import lower_control_flow

VIEWS = """
%o = make_view %z {tile=(4), dim_map=(0)}
%a = constant {dtype=f32, shape=(4)}
%one = constant {value=1, dtype=i32}
"""


def body(text: str) -> str:
    return f"{VIEWS.strip()}\n{text.strip()}\nreturn"


def start(text: str) -> str:
    return f"%0 = make_token\n{body(text)}"


def test_a_kernel_that_only_reads_has_no_tokens():
    unchanged(
        insert_tokens,
        """
        %v = make_view %x {tile=(4), dim_map=(0)}
        %a = load_view %v, %n
        %b = load_view %v, %m
        print %a, %b
        return
        """,
    )


def test_stores_chain_also_through_another_view_and_other_reads_stay_free():
    expect(
        insert_tokens,
        """
        %v = make_view %x {tile=(4), dim_map=(0)}
        %o = make_view %z {tile=(4), dim_map=(0)}
        %o2 = make_view %z {tile=(4), dim_map=(0), padding=1.0}
        %a = load_view %v, %n
        store_view %a, %o, %n
        store_view %a, %o2, %m, %c
        return
        """,
        """
        %0 = make_token
        %v = make_view %x {tile=(4), dim_map=(0)}
        %o = make_view %z {tile=(4), dim_map=(0)}
        %o2 = make_view %z {tile=(4), dim_map=(0), padding=1.0}
        %a = load_view %v, %n
        %1 = store_view_tko %a, %o, %n, %0
        %2 = store_view_tko %a, %o2, %m, %c, %1
        return
        """,
    )


def test_reads_wait_for_writes_but_not_for_reads():
    expect(
        insert_tokens,
        body(
            """
            store_view %a, %o, %n
            %b = load_view %o, %n
            %e = load_view %o, %m
            store_view %b, %o, %m
            print %b, %e
            """
        ),
        start(
            """
            %1 = store_view_tko %a, %o, %n, %0
            %2, %3 = load_view_tko %o, %n, %1
            %4, %5 = load_view_tko %o, %m, %1
            %6 = join_tokens %3, %5
            %7 = store_view_tko %2, %o, %m, %6
            print %2, %4
            """
        ),
    )


def test_each_written_parameter_has_its_own_chain():
    expect(
        insert_tokens,
        """
        %o = make_view %z {tile=(4), dim_map=(0)}
        %q = make_view %w {tile=(2, 2), dim_map=(0, 1)}
        %a = constant {dtype=f32, shape=(4)}
        %b = constant {dtype=f32, shape=(2, 2)}
        store_view %a, %o, %n
        store_view %b, %q, %n, %n
        atomic_red_view %a, %o, %m
        return
        """,
        """
        %0 = make_token
        %1 = make_token
        %o = make_view %z {tile=(4), dim_map=(0)}
        %q = make_view %w {tile=(2, 2), dim_map=(0, 1)}
        %a = constant {dtype=f32, shape=(4)}
        %b = constant {dtype=f32, shape=(2, 2)}
        %2 = store_view_tko %a, %o, %n, %1
        %3 = store_view_tko %b, %q, %n, %n, %0
        %4 = atomic_red_view_tko %a, %o, %m, %2
        return
        """,
    )


def test_pointers_make_all_memory_one_chain():
    expect(
        insert_tokens,
        """
        %v = make_view %x {tile=(4), dim_map=(0)}
        %a = load_ptr %p
        store_ptr %p, %f
        %b = load_view %v, %n
        %e = atomic_rmw %p, %a
        print %b, %e
        return
        """,
        """
        %0 = make_token
        %v = make_view %x {tile=(4), dim_map=(0)}
        %1, %2 = load_ptr_tko %p, %0
        %3 = store_ptr_tko %p, %f, %2
        %4, %5 = load_view_tko %v, %n, %3
        %6, %7 = atomic_rmw_tko %p, %1, %5
        print %4, %6
        return
        """,
    )


def test_branches_yield_their_token():
    expect(
        insert_tokens,
        body(
            """
            if %c {
              store_view %a, %o, %n
              yield
            } else {
              yield
            }
            store_view %a, %o, %m
            """
        ),
        start(
            """
            %1 = if %c : token {
              %2 = store_view_tko %a, %o, %n, %0
              yield %2
            } else {
              yield %0
            }
            %3 = store_view_tko %a, %o, %m, %1
            """
        ),
    )


def test_rounds_with_an_index_of_their_own_fork_and_join():
    expect(
        insert_tokens,
        body(
            """
            for %n, %m, %one { (%i: tile<i32>)
              store_view %a, %o, %i
              continue
            }
            store_view %a, %o, %n
            """
        ),
        start(
            """
            %1 = for %n, %m, %one, %0 { (%i: tile<i32>, %2: token)
              %3 = store_view_tko %a, %o, %i, %0
              %4 = join_tokens %2, %3
              continue %4
            }
            %5 = store_view_tko %a, %o, %n, %1
            """
        ),
    )


def test_the_same_index_in_every_round_carries_the_token():
    expect(
        insert_tokens,
        body(
            """
            for %n, %m, %one { (%i: tile<i32>)
              store_view %a, %o, %n
              continue
            }
            """
        ),
        start(
            """
            %1 = for %n, %m, %one, %0 { (%i: tile<i32>, %2: token)
              %3 = store_view_tko %a, %o, %n, %2
              continue %3
            }
            """
        ),
    )


def test_a_loop_that_only_reads_forks():
    expect(
        insert_tokens,
        body(
            """
            for %n, %m, %one { (%i: tile<i32>)
              %b = load_view %o, %n
              print %b
              continue
            }
            store_view %a, %o, %n
            """
        ),
        start(
            """
            %1 = for %n, %m, %one, %0 { (%i: tile<i32>, %2: token)
              %3, %4 = load_view_tko %o, %n, %0
              print %3
              %5 = join_tokens %2, %4
              continue %5
            }
            %6 = store_view_tko %a, %o, %n, %1
            """
        ),
    )


def forks(loop_body: str, view: str = "{tile=(4), dim_map=(0)}") -> bool:
    """Whether the rounds of a loop start from one token."""
    text = apply(
        insert_tokens,
        kernel(
            f"""
%o = make_view %z {view}
%a = constant {{dtype=f32, shape=(4)}}
%one = constant {{value=1, dtype=i32}}
%two = constant {{value=2, dtype=i32}}
%ten = constant {{value=10, dtype=i32}}
%zero = constant {{value=0, dtype=i32}}
%down = constant {{value=-1, dtype=i32}}
%largest = constant {{value={(2**31 - 1) // 9}, dtype=i32}}
%larger = constant {{value={(2**31 - 1) // 9 + 1}, dtype=i32}}
%least = constant {{value={-(2**31 // 9)}, dtype=i32}}
%lesser = constant {{value={-(2**31 // 9) - 1}, dtype=i32}}
for %one, %ten, %one {{ (%i: tile<i32>)
{loop_body}
  continue
}}
return
"""
        ),
    )
    return "join_tokens" in text


@pytest.mark.parametrize(
    ("loop_body", "expected"),
    [
        ("%j = addi %i, %n\nstore_view %a, %o, %j", True),
        ("%j = subi %n, %i\nstore_view %a, %o, %j", True),
        ("%j = muli %i, %two\nstore_view %a, %o, %j", True),
        ("%j = muli %i, %n\nstore_view %a, %o, %j", False),
        ("%j = muli %i, %one\nstore_view %a, %o, %j", True),
        ("%j = muli %i, %zero\nstore_view %a, %o, %j", False),
        ("%j = muli %i, %down\nstore_view %a, %o, %j", True),
        ("%j = muli %i, %largest\nstore_view %a, %o, %j", True),
        ("%j = muli %i, %larger\nstore_view %a, %o, %j", False),
        ("%j = muli %i, %least\nstore_view %a, %o, %j", True),
        ("%j = muli %i, %lesser\nstore_view %a, %o, %j", False),
        ("%j = divi %i, %two\nstore_view %a, %o, %j", False),
        ("%j = addi %i, %i\nstore_view %a, %o, %j", False),
        ("store_view %a, %o, %i\nstore_view %a, %o, %i", True),
        ("%j = addi %i, %one\nstore_view %a, %o, %i\nstore_view %a, %o, %j", False),
        ("%b = load_view %o, %i\nstore_view %b, %o, %i", True),
        ("%b = load_view %o, %n\nstore_view %b, %o, %i", False),
        ("atomic_red_view %a, %o, %i", True),
    ],
)
def test_which_indices_keep_rounds_apart(loop_body, expected):
    assert forks(loop_body) is expected


VISIT = """
%o = make_view %w {tile=(4, 4), dim_map=(0, 1)}
%a = constant {dtype=f32, shape=(4, 4)}
%one = constant {value=1, dtype=i32}
%two = constant {value=2, dtype=i32}
%ten = constant {value=10, dtype=i32}
for %one, %ten, %two { (%i: tile<i32>)
  %r, %q = tile_index %i, %n, %m {groups=(2, 1)}
"""


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        ("store_view %a, %o, %r, %q", True),
        ("store_view %a, %o, %q, %r", True),
        ("%b = load_view %o, %r, %q\nstore_view %b, %o, %r, %q", True),
        ("%b = load_view %o, %q, %r\nstore_view %b, %o, %r, %q", False),
        ("store_view %a, %o, %r, %n", False),
        ("store_view %a, %o, %r, %r", False),
        ("store_view %a, %o, %r, %q\nstore_view %a, %o, %r, %i", False),
        ("%e, %t = tile_index %i, %i, %m {groups=(2, 1)}\nstore_view %a, %o, %e, %t", False),
        ("%e, %t = tile_index %n, %n, %m {groups=(2, 1)}\nstore_view %a, %o, %e, %t", False),
    ],
)
def test_an_index_of_a_mapped_output_keeps_rounds_apart(access, expected):
    """All its numbers together do; each of them alone comes again."""
    text = apply(insert_tokens, kernel(f"{VISIT}{access}\n  continue\n}}\nreturn\n"))
    assert ("join_tokens" in text) is expected


def test_overlapping_tiles_do_not_keep_rounds_apart():
    store = "store_view %a, %o, %i"
    assert forks(store, "{tile=(4), dim_map=(0), step=(8)}")
    assert not forks(store, "{tile=(4), dim_map=(0), step=(2)}")


def test_nested_loops_fork_on_every_level():
    text = apply(
        insert_tokens,
        kernel(
            """
            %o = make_view %w {tile=(2, 2), dim_map=(0, 1)}
            %a = constant {dtype=f32, shape=(2, 2)}
            %one = constant {value=1, dtype=i32}
            for %n, %m, %one { (%i: tile<i32>)
              for %n, %m, %one { (%j: tile<i32>)
                store_view %a, %o, %i, %j
                continue
              }
              continue
            }
            return
            """
        ),
    )
    assert text.count("join_tokens") == 2
    (store,) = [line for line in text.splitlines() if "store_view_tko" in line]
    (first,) = [line for line in text.splitlines() if "make_token" in line]
    assert store.split(" : ")[0].endswith(first.split(" = ")[0].strip())


def lowered(func):
    return insert_tokens(dce(canonicalize(lower_control_flow(func))))


@pytest.mark.parametrize("pointers", [False, True])
def test_every_pair_that_matters_is_ordered(pointers):
    seed = random.randrange(2**31)
    print(f"programs from seed {seed}")
    for i in range(60):
        for run in (insert_tokens, lowered):
            rng = np.random.default_rng(seed + i)
            arrays = [rng.standard_normal(shape).astype(np.float32) for shape in (13, 9, (7, 5))]
            more = [rng.standard_normal(8).astype(np.float32)] if pointers else []
            made = run(program(seed + i, pointers=pointers))
            found = unordered(made, [*arrays, int(rng.integers(-3, 6)), 1.0, *more], (2, 1, 1))
            assert not found, f"seed {seed + i}: {found}"


@pytest.mark.parametrize("pointers", [False, True])
def test_whatever_comes_after_a_write_waits_for_it_in_the_ir(pointers):
    """And a write for all reads before it, wherever they lead to it on every way."""
    seed, pairs = random.randrange(2**31), 0
    print(f"programs from seed {seed}")
    for i in range(60):
        reach = Reach(lowered(program(seed + i, pointers=pointers)))
        together = any(touched(op) == "pointers" for op in reach.accesses())
        for access in reach.accesses():
            for later in reach.dominated(access):
                writes = (access.defn.effects | later.defn.effects) & Effect.WRITE
                if writes and (together or touched(access) == touched(later)):
                    assert access in reach.before(later), f"seed {seed + i}"
                    pairs += 1
    assert pairs


@tw.entry
def epochs(z: tl.TensorMut[f32]) -> None:
    """Stores through three partitions of one output: in a row, in loops, and in a row again."""
    first = z.partition_mut((4,))
    first.store(tl.full((4,), 1.0, f32), (0,))
    first.store(tl.full((4,), 2.0, f32), (1,))
    second = z.partition_mut((8,))
    for i in range(tl.num_tiles(second, 0)):
        second.store(tl.full((8,), 3.0, f32), (i,))
    for _ in range(3):
        second.store(second.load((0,)) + 1.0, (0,))
    z.partition_mut((2,)).store(tl.full((2,), 4.0, f32), (0,))


def test_partitions_of_one_output_are_ordered_and_disjoint_rounds_are_not():
    reach = Reach(cuda_ir(epochs, tw.meta((64,)).partition_mut((16,))))
    one, two, apart, read, same, last = reach.accesses()
    before = {op: reach.before(op) for op in reach.accesses()}
    assert before[one] == set()
    assert before[two] == {one}
    assert before[apart] == {one, two}, "no round waits for another"
    assert before[read] == before[same] == {one, two, apart, read, same}
    assert before[last] == {one, two, apart, read, same}


def test_an_order_that_is_missing_is_found():
    """The check above can fail: the plain program orders nothing."""
    arrays = [np.zeros(shape, np.float32) for shape in (13, 9, (7, 5))]
    assert any(unordered(program(s), [*arrays, 3, 1.0], (2, 1, 1)) for s in range(40))


@pytest.mark.parametrize("pointers", [False, True])
def test_random_programs_keep_their_meaning(pointers):
    same_meaning_always(insert_tokens, pointers=pointers)


def test_leaving_a_scope_takes_along_what_earlier_rounds_did():
    """Rounds that fork would leave with the token of one round only."""
    text = apply(
        insert_tokens,
        kernel(
            """
            %o = make_view %z {tile=(4), dim_map=(0)}
            %a = constant {dtype=f32, shape=(4)}
            %one = constant {value=1, dtype=i32}
            scope {
              for %n, %m, %one { (%i: tile<i32>)
                store_view %a, %o, %i
                if %c {
                  leave
                } else {
                  yield
                }
                continue
              }
              leave
            }
            store_view %a, %o, %n
            return
            """
        ),
    )
    assert "join_tokens" not in text
