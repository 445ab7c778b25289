"""What a launch needs of tensors and streams, in native memory, and the native code that reads it.

For all devices: this runs on the host. The owner of each record writes what it knows; a launch asks
about all its tensors in one call, and only what is not plain is looked at in Python.
"""
