"""What functions of libraries return, as far as sizes depend on it.

A module here that has `FUNCTIONS` is discovered: a table of functions by their dotted path, or by
their last name alone where libraries agree on it. Each takes positional and named arguments. Values
that are not known stay unknown.
"""
