"""Facts about IR. Each analysis takes a function and gives what is known; none edits."""
