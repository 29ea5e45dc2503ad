"""Exact counts of the integer points of loop nests with guards."""
