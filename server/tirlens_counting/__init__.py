"""Exact counts of integer points of guarded loop nests, and the expressions that describe them."""
