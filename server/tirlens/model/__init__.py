"""The cost model: pure functions from facts, a device and bindings to a report."""

from .analyze import analyze

__all__ = ["analyze"]
