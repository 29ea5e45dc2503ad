"""Which kernel of one version of a file is which kernel of another.

A kernel is identified by its file, its qualified name, the name of its own function and, where a
schedule builds it, the schedule: of the versions of a schedule the last one is compared, whichever
primitives lead to it. What has no counterpart may have another name: the inner function of the same
definition, else the definition with the most similar text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport

Identity = tuple[str, ...]
Group = tuple[KernelReport, ...]

# As ``git diff -M``: of two texts that have half in common one is the other under a new name.
_LEAST_SIMILARITY = 0.5


def identity(kernel: KernelReport) -> Identity:
    """What a kernel is in its file, whatever its call and sizes."""
    built = kernel.built
    if built is None:
        return kernel.definition, kernel.name
    if built.sequence is None:
        return kernel.definition, kernel.name, built.entry, *built.arrays
    return kernel.definition.split(".")[0], kernel.name, f"schedule {built.sequence}"


def by_identity(file: FileReport | None) -> dict[Identity, Group]:
    """The reports of each kernel: one for each of its calls; of a schedule those of its end."""
    found: dict[Identity, list[KernelReport]] = defaultdict(list)
    for kernel in file.kernels if file else ():
        if kernel.is_last_version:
            found[identity(kernel)].append(kernel)
    return {key: tuple(kernels) for key, kernels in found.items()}


def counterparts(before: FileReport | None, now: FileReport) -> list[tuple[Group, Group]]:
    """The reports of each kernel before and now, in the order of the text; empty if it is new or
    gone."""
    old, new = by_identity(before), by_identity(now)
    same = {key: key for key in new if key in old}
    for same_name in (_same_definition, _have_similar_texts(before, now)):
        gone = [key for key in old if key not in same.values()]
        for key in (key for key in new if key not in same):
            match = next((item for item in gone if same_name(old[item][0], new[key][0])), None)
            if match is not None:
                same[key] = match
                gone.remove(match)
    pairs = [(old[same[key]] if key in same else (), group) for key, group in new.items()]
    return [*pairs, *((group, ()) for key, group in old.items() if key not in same.values())]


def _same_definition(old: KernelReport, new: KernelReport) -> bool:
    return identity(old)[0] == identity(new)[0]


def _have_similar_texts(
    before: FileReport | None, now: FileReport
) -> Callable[[KernelReport, KernelReport], bool]:
    """Whether two kernels have similar texts under names of which the other text has none."""
    old_texts, new_texts = _texts(before), _texts(now)

    def are_similar(old: KernelReport, new: KernelReport) -> bool:
        one, other = old_texts.get(old.definition), new_texts.get(new.definition)
        if one is None or other is None or new.definition in old_texts:
            return False
        return SequenceMatcher(None, one, other).ratio() >= _LEAST_SIMILARITY

    return are_similar


def _texts(file: FileReport | None) -> dict[str, list[str]]:
    """The lines of each kernel's text without their indentation."""
    if file is None:
        return {}
    lines = [line.strip() for line in file.source.text.splitlines()]
    return {
        kernel.name: lines[kernel.extent.line - 1 : kernel.extent.end_line]
        for kernel in file.source.kernels
    }


def work_key(kernel: KernelReport) -> object:
    """What two reports of one kernel have in common if they are of the same work: the call, the
    sizes, also those that are defaults of the definition, and the device."""
    sizes = {**kernel.sizes, **kernel.bindings}
    return "".join(kernel.call.split()), tuple(sorted(sizes.items())), kernel.device_id


def is_same_problem(old: KernelReport, new: KernelReport) -> bool:
    """Whether two calls of a kernel differ in its configuration alone, such as tiles: they touch
    the same bytes of global memory."""
    return (
        old.compulsory_bytes is not None
        and old.compulsory_bytes == new.compulsory_bytes
        and old.device_id == new.device_id
    )


def pairs(
    old: Sequence[KernelReport], new: Sequence[KernelReport]
) -> Iterator[tuple[KernelReport | None, KernelReport | None]]:
    """The reports of one kernel before and now: of the same work first, the rest in their order."""
    partners = dict(_matches(old, new))
    left = [kernel for kernel in old if all(kernel is not item for item in partners.values())]
    for position, kernel in enumerate(new):
        if position not in partners and left:
            partners[position] = left.pop(0)
        yield partners.get(position), kernel
    yield from ((kernel, None) for kernel in left)


def _matches(
    old: Iterable[KernelReport], new: Sequence[KernelReport]
) -> Iterator[tuple[int, KernelReport]]:
    left = list(old)
    for position, kernel in enumerate(new):
        match = next((item for item in left if work_key(item) == work_key(kernel)), None)
        if match is not None:
            left.remove(match)
            yield position, match
