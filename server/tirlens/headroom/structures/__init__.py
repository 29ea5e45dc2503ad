"""The library of structures: the known ways to do a job, as kernels for the model.

A module for each kind of job has `candidates`, the kernels of its structure for a job on a device.
"""
