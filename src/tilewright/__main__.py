"""`python -m tilewright` is the command `tilewright`."""

from .tools import main

if __name__ == "__main__":
    raise SystemExit(main())
