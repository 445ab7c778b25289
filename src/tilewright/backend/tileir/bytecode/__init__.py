"""Tile IR as data: types, programs, instructions; written as bytecode, and read back."""
