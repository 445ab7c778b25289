"""The fixtures of the pytest plugin, for a conftest.py that names them.

It is seldom needed: pytest finds `tilewright_pytest` by itself where Tilewright is installed.
"""

from tilewright_pytest import assert_close, no_leaks, null_device, poisoned, tilewright_device

__all__ = ["assert_close", "no_leaks", "null_device", "poisoned", "tilewright_device"]
