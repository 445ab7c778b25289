"""The kernels of the corpus in Tilewright, written from its documentation alone."""
