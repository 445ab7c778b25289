from __future__ import annotations

import _thread
import gc
import queue
import weakref

import pytest

from tilewright import _core
from tilewright.op.core import value
from tilewright.op.place import here, place_of, user_frame


def test_the_innermost_line_of_the_program():
    location = here()  # this line
    place = place_of(location)
    assert place.filename == __file__
    assert place.text == "location = here()  # this line"


def test_our_own_frames_are_passed_over():
    op = value(1).map(  # built here
        str
    )
    assert "test_place.py" in repr(op)
    op.sync()


def test_a_spot_keeps_no_frame_alive():
    class Big:
        pass

    def remember():
        big = Big()
        return here(), weakref.ref(big)

    location, big = remember()
    gc.collect()
    assert big() is None
    assert place_of(location).text == "return here(), weakref.ref(big)"


def test_code_without_a_file():
    scope: dict[str, object] = {"here": here}
    exec(compile("location = here()", "<made up>", "exec"), scope)
    place = place_of(scope["location"])  # type: ignore[arg-type]
    assert (place.filename, place.line, place.text) == ("<made up>", 1, "")


def test_no_program_at_all():
    assert str(place_of(None)) == "<unknown>:0"


def test_callers_that_are_known_need_no_look():
    location = here()
    assert here(0)[0] is location[0]

    def ours():
        return here(1), user_frame(1)

    found, frame = ours()
    assert found[0] is location[0]
    assert frame.f_code is location[0]


def test_no_program_on_the_stack():
    """A thread may run an op without a line of Python around it."""
    op, done = value(1), queue.Queue()
    op.execute = lambda ctx: done.put("ran")  # type: ignore[method-assign]
    _thread.start_new_thread(op.sync, ())
    assert done.get(timeout=10) == "ran"
    assert here(10_000) is None


def test_where_an_op_was_used():
    op = value(1)
    op.sync()  # used here
    assert place_of(op._used[1]).text == "op.sync()  # used here"
    other = value(1)
    other.close()  # dropped here
    assert place_of(other._used[1]).text == "other.close()  # dropped here"


def test_a_loop_finds_one_location():
    first, *others = [location for _ in range(3) for location in (here(),)]
    assert all(each is first for each in others)
    one, other = here(), here()
    assert one[0] is other[0] and one[1] != other[1]


def test_more_locations_than_are_remembered():
    """Entries are shared by locations that meet there."""
    lines = [compile("\n" * i + "location = here()", "<made up>", "exec") for i in range(300)]
    for _ in range(2):
        for i, code in enumerate(lines):
            scope: dict[str, object] = {"here": here}
            exec(code, scope)
            assert scope["location"][0] is code  # type: ignore[index]
            assert place_of(scope["location"]).line == i + 1  # type: ignore[arg-type]


def test_code_that_is_forgotten_may_run_python():
    """What is called as it ends looks for locations, too, at the entry that is being changed."""
    found, watched = [], []
    for i in range(300):
        code = compile("location = here()", f"<made up {i}>", "exec")
        watched.append(weakref.ref(code, lambda _: found.append(here())))
        exec(code, {"here": here})
        del code
    gc.collect()
    assert found and all(location[0].co_name == "<lambda>" for location in found)


def test_what_is_no_location_is_refused():
    assert here(here())[0] is here()[0], "a location stands for itself"
    for wrong in ("text", 1.5, None, [0]):
        with pytest.raises(TypeError, match="an int or a tuple"):
            here(wrong)
    with pytest.raises(TypeError, match="at most 1"):
        here(1, 2)
    with pytest.raises(TypeError, match="a dict"):
        _core.set_ours([])  # type: ignore[arg-type]
