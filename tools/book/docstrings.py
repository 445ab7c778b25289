"""Show examples in docstrings as code, on pages that mkdocstrings writes."""

from __future__ import annotations

from typing import Any

from griffe import Extension, Object

from book.locate import fenced


class Examples(Extension):
    """Put fences around the examples of every docstring that the book shows."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of an object that was read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
