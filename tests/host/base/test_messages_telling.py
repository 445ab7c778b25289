from __future__ import annotations

import sys
import warnings

import pytest

from tilewright.base import config
from tilewright.base.messages import tell


def test_a_warning_names_who_called():
    with pytest.warns(RuntimeWarning, match="something") as caught:
        tell("something")
    assert caught[0].filename == __file__


def test_where_warnings_are_errors_nothing_is_raised(monkeypatch):
    heard = []
    monkeypatch.setattr(sys, "unraisablehook", lambda given: heard.append(given.exc_value))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tell("something")
        config.from_environment({"TILEWRIGHT_NUM_THREAD": "3"})
    assert [type(each) for each in heard] == [RuntimeWarning] * 2
    assert "TILEWRIGHT_NUM_THREADS" in str(heard[1])
