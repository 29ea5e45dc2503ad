"""Measured operations: the traces of profilers, read as one type of record."""
