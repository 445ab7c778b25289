"""Passes: IR to IR. Each is one file with one public function from a function to a function."""
