"""How a Tile IR program is bytes: the table of opcodes, the writer, the reader."""
