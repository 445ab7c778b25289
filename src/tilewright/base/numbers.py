"""Numbers in words, for messages."""

from __future__ import annotations

import reprlib

LONG = 4096
"""Bits of an integer whose digits nobody reads; of much longer ones Python gives none."""


def number_text(number: object) -> str:
    """A number as Python writes it; of a very long integer how long it is.

    >>> number_text(1.5), number_text(1 << 5000)
    ('1.5', 'an integer of 5001 bits')
    """
    if isinstance(number, int) and number.bit_length() > LONG:
        return f"an integer of {number.bit_length()} bits"
    return reprlib.repr(number)
