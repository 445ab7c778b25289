"""A corpus of kernels that stands for what users write, beside the same work in other ways."""
