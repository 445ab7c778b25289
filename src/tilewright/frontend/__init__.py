"""The front end: from a Python function to typed IR, by capture, interpretation and rules."""
