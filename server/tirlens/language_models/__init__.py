"""The sizes of public language models, and which parameters of kernels they are.

Each model is a file of `data` with the address of its public configuration; `names.toml` has what
the parameters of kernels mean. Adding a model is one file.
"""

from __future__ import annotations

from tirlens.language_models.catalogue import (
    LanguageModel,
    UnknownModelError,
    all_models,
    load,
    model_ids,
)
from tirlens.language_models.choice import fitting_models, values_of
from tirlens.language_models.kernel_names import KernelNames
from tirlens.language_models.mentions import mentions

__all__ = [
    "KernelNames",
    "LanguageModel",
    "UnknownModelError",
    "all_models",
    "fitting_models",
    "load",
    "mentions",
    "model_ids",
    "values_of",
]
