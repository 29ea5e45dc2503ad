"""Exact counts of the integer points of loop nests with guards.

The limits of these modules (the largest table, the most cases, points and pieces) bound the effort,
so that a kernel takes milliseconds; they are no part of what is counted.  Beyond them another way
is taken, and where none is left the count is an estimate and told as such.
"""
