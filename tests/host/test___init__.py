from __future__ import annotations

import inspect

import tilewright as tw
from support.loops import for_each


@for_each(tw.__all__)
def test_every_public_name_is_documented(name):
    value = getattr(tw, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert inspect.getdoc(value), f"tw.{name} has no docstring"


def test_nothing_else_is_public():
    modules = {name for name, value in vars(tw).items() if inspect.ismodule(value)}
    inner = {*modules, "lang", "testing"} - {"distributed", "jit_cache", "ops", "simt", "tune"}
    public = {name for name in dir(tw) if not name.startswith("_")} - inner
    # Not imported by *: they would hide, or look like, Python's own words.
    assert public == {*tw.__all__, "exec", "bool_", "zip"}
    assert len(set(tw.__all__)) == len(tw.__all__)
