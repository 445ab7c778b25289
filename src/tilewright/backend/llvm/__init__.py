"""LLVM IR as text, its target, and object files; shared by the CPU and PTX backends."""
