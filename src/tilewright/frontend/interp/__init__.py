"""The interpreter of a kernel's syntax tree, which emits IR on its way."""
