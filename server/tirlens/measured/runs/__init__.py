"""Runs: the operations of one run summed, and two runs compared."""
