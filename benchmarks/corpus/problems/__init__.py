"""The rows of the corpus: shapes, data, and the same work in torch."""
