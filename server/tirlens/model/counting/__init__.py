"""Counting: how often each statement of a kernel runs, exactly, and which bytes it touches."""
