"""Arithmetic on the expressions of the facts: bounds, linear forms, offsets, text."""
