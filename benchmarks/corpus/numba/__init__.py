"""The rows as numba users write them: loops over rows or elements, outputs before inputs."""
