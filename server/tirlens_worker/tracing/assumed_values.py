"""Plausible values for the parameters of a kernel for which the file gives no arguments.

The names of parameters of kernels are uniform enough to assume values by name: block sizes,
threads, data types, heads, lengths.  A value that the file uses under the same name
(`tirlens.source.literal_values`) is tried first.  Values are Python expressions as text, because
the user sees the call and can copy it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import (
    Any,
    Collection,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
)

from .name_meanings import DTYPES, meaning_of, usual_values
from .names_in_company import Texts, in_company


@dataclass(frozen=True)
class Parameter:
    """A parameter that needs a value.

    `optional` if the kernel has a default; `position` if it can be passed by position; `choices`
    are the values that its definition lists, `codes` the numbers that it compares it with;
    `context` are the names of the kernel and its file; `length` is that of a tuple, 0 of no tuple.
    """

    name: str
    annotation: Any = None
    optional: bool = False
    position: Optional[int] = None
    choices: Texts = ()
    codes: Texts = ()
    context: str = ""
    length: int = 0


_IS_FLOAT8 = re.compile(r"(^|[^a-z]|mx)(fp8|float8|f8|e4m3)|a8w8|w8a8")
# The m of a product of m vectors with a matrix, whose sizes are those of weights.
_IS_VECTOR, _ONE_ROW = re.compile(r"gemv|mat_?vec"), ("1", "8")
_IS_RESULT = re.compile(r"(^|_)(out|output|o|c|y|dst|result)(_|$)")
_BY_TYPE: Mapping[str, Texts] = {
    "bool": ("False", "True"),
    "int": ("128", "1", "4096"),
    "float": ("1.0",),
    "str": ('"float16"',),
}
# Tried after the usual value of the only size of a kernel: it may be a number of elements.
_ELEMENTS = "4194304"
_UNKNOWN: Texts = ("128", "1", '"float16"', "None", "1.0")
_MAX_ATTEMPTS = 16
_LARGE, _SMALL = 1024, 16
_FEW_ROWS = "8"
_IS_OF_BLOCK = re.compile(r"(.*_)?(block|blk|tile|chunk|page|threads?|warps?|stages?)|b[mnktvcqs]$")
_IS_OF_TILE = re.compile(r".*(block|blk|tile)|b")
_IS_OF_HEAD = re.compile(r".*dim(_?(qk|v|k|q|head|size))?|d_?(head|state|qk|v|k|q)?|.*head_?size")


def by_name(
    name: str, annotation: Any = None, others: Collection[str] = (), context: str = ""
) -> Texts:
    """Values for a parameter by its name and the `others`, then by its type; never empty."""
    values = in_company(name, others)
    if (
        name.lower() == "m"
        and _IS_VECTOR.search(context.lower())
        and {"n", "k"} <= {other.lower() for other in others}
    ):
        values = _ONE_ROW
    if values:
        return values
    hint = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    if str(hint).endswith("torch.dtype"):
        module = str(hint).rpartition(".")[0]
        return tuple("{}.{}".format(module, text.strip('"')) for text in _dtypes(name, context))
    if str(hint).endswith(".dtype"):
        return tuple("{}({})".format(hint, text) for text in _dtypes(name, context))
    if str(hint).rpartition(".")[2] == "Target":
        return ('{}("cuda")'.format(hint),)
    if str(hint).rpartition(".")[2] == "BlockBuilder":
        return ("{}()".format(hint),)
    if hint in ("Dict", "Mapping", "dict"):
        return ("{}",)
    if hint == "flag":
        hint = "bool" if meaning_of(name) is None else ""
    if hint in ("bool", "float"):
        typed = {"bool": ("False", "True"), "float": usual_values(name) + ("1.0",)}[hint]
        return tuple(dict.fromkeys(typed))
    values = usual_values(name)
    values = _dtypes(name, context) if values == DTYPES else values
    return tuple(text for text in values if _is_of(text, str(hint))) or _of_type(str(hint))


def _dtypes(name: str, context: str) -> Texts:
    """The dtypes of an operand: 8-bit ones in a kernel with a name such as ``gemm_fp8``."""
    if not _IS_FLOAT8.search(context.lower()):
        return DTYPES
    first = '"bfloat16"' if _IS_RESULT.search(name.lower()) else '"float8_e4m3fn"'
    return (first, *DTYPES)


def _of_type(hint: str) -> Texts:
    return _BY_TYPE.get(hint, _UNKNOWN)


def _is_of(text: str, hint: str) -> bool:
    """Whether a value may be of the type `hint`: a number is no text."""
    if hint == "int":
        return text[:1] not in "'\"" and text not in ("True", "False")
    return hint != "str" or not text.isdigit()


def size(
    name: str, hints: Mapping[str, Texts], others: Collection[str] = (), context: str = ""
) -> Optional[int]:
    """A size for a dynamic dimension; None if neither the file nor the name implies one.

    `others` are the names of the other dimensions, `context` that of the kernel.
    """
    named = in_company(name, others)
    if name.lower() == "m" and _IS_VECTOR.search(context.lower()):
        named = _ONE_ROW
    named = named or usual_values(name)
    if "False" in named:
        return 1
    return next((int(text) for text in hints.get(name, ()) + named if _is_size(text)), None)


def _is_size(text: str) -> bool:
    return text.isdigit() and int(text) > 0


def attempts(
    parameters: Sequence[Parameter],
    hints: Mapping[str, Texts],
    bindings: Mapping[str, int],
    divisor: int = 1,
) -> Iterator[Dict[str, str]]:
    """Assignments of values to `parameters`, the most plausible first, at most 16.

    `bindings` are values from the user and part of all assignments.  Optional parameters get values
    after all assignments without them.  Other values of at least 1024 are divided by `divisor`, a
    power of two, but not below 256.  A divisor above 16 makes the other sizes smaller, too, but
    those of blocks.
    """
    fixed = {name: (str(value),) for name, value in bindings.items()}
    seen: List[Dict[str, str]] = []
    for assignment in _assignments(parameters, hints, fixed):
        for name, text in assignment.items():
            if name not in fixed and text.isdigit():
                assignment[name] = str(_divide(name, int(text), divisor))
        if assignment not in seen:
            seen.append(assignment)
            yield assignment
        if len(seen) == _MAX_ATTEMPTS:
            return


def _divide(name: str, number: int, divisor: int) -> int:
    if number >= _LARGE:
        return max(number // divisor, _LARGE // 4)
    if divisor > 16 and number > _SMALL and not _IS_OF_BLOCK.match(name.lower()):
        return max(number * 16 // divisor, _SMALL)
    return number


def _assignments(
    parameters: Sequence[Parameter], hints: Mapping[str, Texts], fixed: Mapping[str, Texts]
) -> Iterator[Dict[str, str]]:
    required = [p for p in parameters if not p.optional or p.name in fixed]
    for chosen in (required, list(parameters)):
        names = [p.name for p in parameters]
        table = {p.name: fixed.get(p.name) or plausible_values(p, names) for p in chosen}
        hinted = dict(table)
        for parameter in chosen:
            name, choices = parameter.name, parameter.choices
            if name not in fixed:
                found = [text for text in hints.get(name, ()) if not choices or text in choices]
                hinted[name] = tuple(dict.fromkeys((*found, *table[name])))
        first = {name: values[0] for name, values in hinted.items()}
        yield dict(first)
        only = _only_size(table)
        if only is not None and only not in hints and only not in fixed:
            yield dict(first, **{only: _ELEMENTS})
        # What needs too much shared memory may fit with smaller blocks and heads.
        of_tile = [n for n in table if _IS_OF_BLOCK.match(n.lower()) or _is_of_head(n)]
        if any(_is_of_head(name) and name in hints for name in of_tile):
            # The heads are known, the blocks are not.
            blocks = [name for name in of_tile if _IS_OF_BLOCK.match(name.lower())]
            yield dict(first, **{name: _smallest(table[name]) for name in blocks})
        tiles = [name for name in of_tile if _IS_OF_TILE.match(name.lower())]
        if any(name in hints for name in tiles):
            # The repository's values are of several kernels; its threads may be all that it allows.
            yield dict(first, **{name: _smaller(first[name], table[name]) for name in tiles})
        yield dict(first, **{name: _smallest(table[name]) for name in of_tile})
        for source, ranks in ((hinted, (1,)), (table, (0, 1))):
            for rank in ranks:
                yield {n: values[min(rank, len(values) - 1)] for n, values in source.items()}
        yield {name: _smallest(values) for name, values in table.items()}
        for name, values in hinted.items():
            # First what the repository gives to the name, then what the name implies.
            others = [value for value in values[2:] if value not in table[name]]
            for value in dict.fromkeys((*others, *table[name][1:])):
                yield dict(first, **{name: value})
        # Blocks of whole rows, which are too long for more than a few.
        yield dict(first, **dict.fromkeys(tiles, _FEW_ROWS))


def plausible_values(parameter: Parameter, names: Collection[str]) -> Texts:
    """Values for a parameter by what its definition lists, else by its name."""
    values = by_name(parameter.name, parameter.annotation, names, parameter.context)
    if parameter.choices:
        first = tuple(text for text in values if text in parameter.choices)
        return tuple(dict.fromkeys((*first, *parameter.choices)))
    if parameter.codes and not _is_named(parameter.name):
        return parameter.codes
    if parameter.length:
        end = "," if parameter.length == 1 else ""
        # The framework may crash on a shape with None.
        sizes = [text for text in values if _is_size(text)] or list(values)
        tuples = (", ".join([text] * parameter.length) + end for text in sizes)
        return tuple("({})".format(text) for text in tuples)
    return values


def _only_size(table: Mapping[str, Texts]) -> Optional[str]:
    """The name of the only size in a table of values by name, beside those of blocks."""
    named = [name for name in table if _is_named(name) and not _IS_OF_BLOCK.match(name.lower())]
    is_large = len(named) == 1 and _is_size(table[named[0]][0])
    return named[0] if is_large and int(table[named[0]][0]) >= _LARGE else None


def _is_named(name: str) -> bool:
    """Whether numbers are assumed for the name."""
    return any(text.isdigit() for text in usual_values(name))


def _is_of_head(name: str) -> bool:
    return _IS_OF_HEAD.fullmatch(name.lower()) is not None


def _smaller(value: str, values: Texts) -> str:
    """The largest of `values` below `value`; itself if none is."""
    if not all(_is_size(text) for text in (value, *values)):
        return value
    return max((text for text in values if int(text) < int(value)), key=int, default=value)


def _smallest(values: Texts) -> str:
    """The smallest of `values` if they are positive numbers, else the first."""
    return min(values, key=int) if all(_is_size(text) for text in values) else values[0]
