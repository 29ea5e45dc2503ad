"""Evaluation of Python from its text, with unknown values: nothing of it is executed or imported.

An `Evaluator` executes the programs of a module (`roots.py`) as Python does, as far as the text
gives the values, and records the calls of some functions. It reads the kernel's own file
(`tirlens.source`) as well as the other files of a repository (`tirlens.repository`).
"""
