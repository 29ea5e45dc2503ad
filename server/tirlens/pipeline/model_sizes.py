"""The models whose sizes a kernel may have: the one that the user names, or those that fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tirlens.language_models import (
    KernelNames,
    UnknownModelError,
    fitting_models,
    load,
    mentions,
    values_of,
)
from tirlens.pipeline.options import Options
from tirlens.source.source_file import KernelSource
from tirlens_worker.facts import ModelSizes

# The file's name and its folders that say what its kernels are, and those that may name a model: a
# repository of one model has it in its own name.
_PATH_PARTS, _PATH_PARTS_OF_A_MODEL = 3, 6
# The worker tries them in turn.
_MOST_MODELS = 4


@dataclass(frozen=True)
class FileMentions:
    """The ids of the models that a file's path and text name."""

    path: str
    in_path: tuple[str, ...]
    in_text: tuple[str, ...]

    @classmethod
    def of(cls, path: str, text: str) -> FileMentions:
        """The mentions in a file."""
        parts = Path(path).parts[-_PATH_PARTS_OF_A_MODEL:]
        return cls(path, mentions("/".join(parts)), mentions(text))


def models_of(
    kernel: KernelSource,
    file: FileMentions,
    hints: Mapping[str, tuple[str, ...]],
    options: Options,
) -> tuple[ModelSizes, ...]:
    """The models whose sizes the kernel may have, the best first.

    Parameters
    ----------
    kernel
        A kernel of the file.
    file
        The models that the file names.
    hints
        The values that the text and the calls give to names.
    options
        The options of the analysis.

    Returns
    -------
    tuple of ModelSizes
        The one that the user names, or those that agree with what is known.
    """
    names = kernel_names(kernel, file.path)
    chosen = options.model_for(kernel)
    if chosen is not None:
        values = _values_of(chosen, names)
        return () if values is None else (ModelSizes(chosen, values, is_chosen=True),)
    known = _known_sizes(kernel, hints, options)
    found = fitting_models(names, known, file.in_path, file.in_text)
    return tuple(ModelSizes(model.id, values) for model, values in found[:_MOST_MODELS])


def kernel_names(kernel: KernelSource, path: str) -> KernelNames:
    """What the names of the parameters and dimensions of a kernel mean."""
    dimensions = (name for names in kernel.dimensions.values() for name in names)
    words = (kernel.name, kernel.prim_func or "", *Path(path).with_suffix("").parts[-_PATH_PARTS:])
    return KernelNames.of(tuple(dict.fromkeys((*kernel.parameters, *dimensions))), "/".join(words))


def _values_of(model_id: str, names: KernelNames) -> dict[str, int] | None:
    try:
        return values_of(load(model_id), names)
    except UnknownModelError:
        return None


def _known_sizes(
    kernel: KernelSource, hints: Mapping[str, Sequence[str]], options: Options
) -> dict[str, int]:
    """The sizes that the signature, the text and the user give; of several the first."""
    defaults = {name: size for name, size in kernel.sizes.items() if size is not None}
    first = {name: values[0] for name, values in hints.items() if values}
    hinted = {name: int(text) for name, text in first.items() if text.isdigit()}
    return {**hinted, **defaults, **options.bindings_for(kernel)}
