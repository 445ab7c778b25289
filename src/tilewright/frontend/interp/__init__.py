"""The abstract interpreter of a kernel's syntax tree, which emits IR."""
