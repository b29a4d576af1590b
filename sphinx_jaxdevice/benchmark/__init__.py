"""The founding model and, built on it, the measurement of why a GPU is slower; runs without Sphinx."""
