"""From a Python function to typed IR: capture, resolve, interpret, with rules per op family."""
