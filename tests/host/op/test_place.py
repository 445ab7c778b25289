from __future__ import annotations

import gc
import weakref

from tilewright.op.core import value
from tilewright.op.place import here, place_of


def test_the_innermost_line_of_the_program():
    spot = here()  # this line
    place = place_of(spot)
    assert place.filename == __file__
    assert place.text == "spot = here()  # this line"


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

    spot, big = remember()
    gc.collect()
    assert big() is None
    assert place_of(spot).text == "return here(), weakref.ref(big)"


def test_code_without_a_file():
    scope: dict[str, object] = {"here": here}
    exec(compile("spot = here()", "<made up>", "exec"), scope)
    place = place_of(scope["spot"])  # type: ignore[arg-type]
    assert (place.filename, place.line, place.text) == ("<made up>", 1, "")


def test_no_program_at_all():
    assert str(place_of(None)) == "<unknown>:0"
