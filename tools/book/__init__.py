"""Make the book: its pictures, plots, generated pages, and the hook that MkDocs calls."""
