"""The models that fit a kernel: what is known of it agrees with their sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirlens.language_models.catalogue import LanguageModel, all_models
from tirlens.language_models.kernel_names import KernelNames, Meaning

# A model is served on so many devices at most.
_MOST_SHARDS = 64


def values_of(model: LanguageModel, names: KernelNames) -> dict[str, int] | None:
    """The values of a kernel's names in `model`; None if it does not have all, or none."""
    found: dict[str, int] = {}
    for name, meaning in names.meanings.items():
        value = meaning.value(model.sizes)
        if value is not None:
            found[name] = value
        elif not meaning.optional:
            return None
    return found or None


def fitting_models(
    names: KernelNames,
    known: Mapping[str, int],
    in_path: Sequence[str] = (),
    in_text: Sequence[str] = (),
) -> list[tuple[LanguageModel, dict[str, int]]]:
    """The models with all sizes of a kernel that agree with the `known` ones, the best first.

    A known size agrees if it is the model's, or the equal part of it that one of several devices
    holds. Models that the path or the text names come first, then those with more known sizes, then
    the typical ones of the kernel's family.

    Parameters
    ----------
    names
        The kernel's names with their meanings.
    known
        Sizes by name that the text or the calls give.
    in_path, in_text
        The ids of the models that the file's path and text name.

    Returns
    -------
    list of (model, values by name)
        The values are those of the model, also for known names; where a given number of heads is
        that of one of several devices, the other numbers of heads are, too.
    """
    ranked: list[tuple[tuple[int, float, int], LanguageModel, dict[str, int]]] = []
    for model in all_models():
        values = values_of(model, names)
        agreement = None if values is None else _agreement(names.meanings, values, known)
        if values is None or agreement is None:
            continue
        mention = 2 * (model.id in in_path) or int(model.id in in_text)
        if not mention and not agreement and model.id not in names.typical:
            continue
        rank = names.typical.index(model.id) if model.id in names.typical else len(names.typical)
        values = _on_one_device(names.meanings, values, known)
        ranked.append(((-mention, -agreement, rank), model, values))
    ranked.sort(key=lambda item: item[0])
    return [(model, values) for _, model, values in ranked]


def _agreement(
    meanings: Mapping[str, Meaning], values: Mapping[str, int], known: Mapping[str, int]
) -> float | None:
    """The number of known sizes that are a model's; a part counts as half. None if one is not."""
    total = 0.0
    for name, value in values.items():
        given = known.get(name)
        if given is None:
            continue
        if given == value:
            total += 1
        elif meanings[name].is_sharded and _is_part(given, value):
            total += 0.5
        else:
            return None
    return total


def _on_one_device(
    meanings: Mapping[str, Meaning], values: dict[str, int], known: Mapping[str, int]
) -> dict[str, int]:
    """`values` with the heads of one device where a known number of heads is that of one."""
    heads = [name for name in values if meanings[name].is_number_of_heads]
    devices = max((values[name] // known[name] for name in heads if known.get(name)), default=1)
    if devices <= 1:
        return values
    # Heads of keys and values that are fewer than the devices are on several of them.
    return {**values, **{name: max(1, values[name] // devices) for name in heads}}


def _is_part(given: int, value: int) -> bool:
    """Whether `given` is what one of several devices holds of `value`."""
    return given > 0 and value % given == 0 and value // given <= _MOST_SHARDS
