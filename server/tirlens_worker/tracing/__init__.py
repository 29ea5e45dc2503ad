"""Tracing: the calls that yield the IR functions of a kernel, and their arguments."""
