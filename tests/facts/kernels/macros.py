"""A macro in a file of its own."""

from tvm.script import tirx as T


@T.inline
def negate(source, target, index):
    target[index] = -source[index]
