"""Values for parameters whose names mean something by the parameters with them."""

from __future__ import annotations

import re
from typing import Collection, FrozenSet, NamedTuple, Tuple

Texts = Tuple[str, ...]


class Company(NamedTuple):
    """The meaning that a name has among others.

    Of each set of `required` one name is there, and none of `without` may be there. `values` are
    Python expressions, the most usual first.
    """

    meaning: str
    name: str
    required: Tuple[FrozenSet[str], ...]
    without: FrozenSet[str]
    values: Texts


_HEADS = frozenset(["h", "hq", "qh", "heads", "num_heads", "nheads"])
_WIDTHS = frozenset(["w", "iw", "w_in", "in_w", "width"])
_OF_IMAGES = (frozenset("w"), frozenset("h"), frozenset("c"))
_OF_FILTERS = frozenset(["kd", "kh", "kw"])
_NONE: FrozenSet[str] = frozenset()
# The first that applies decides: k is a head's dimension with v or h and without the m or n of a
# product; n is the batch of (n, s, h, d).
_COMPANIES: Tuple[Company, ...] = (
    Company("the width of a head's keys", "k", (_HEADS | {"v"},), frozenset("mn"), ("128", "64")),
    Company(
        "the batch of (n, s, h, d)",
        "n",
        (_HEADS, frozenset(["s", "l", "t", "seq_len", "seqlen"])),
        frozenset("bm"),
        ("8", "1"),
    ),
    Company(
        "a side of a filter", "k", (frozenset("w"), frozenset("cf")), frozenset("m"), ("3", "1")
    ),
    Company("the batch of images", "n", _OF_IMAGES, frozenset("m"), ("8", "1")),
    Company("the depth of an image", "d", _OF_IMAGES, frozenset("m"), ("16", "8")),
    Company(
        "the height of an image",
        "h",
        (frozenset("w"), frozenset("c")),
        frozenset("m"),
        ("64", "32"),
    ),
    Company(
        "the width of an image",
        "w",
        (frozenset("h"), frozenset("c")),
        frozenset("m"),
        ("64", "32"),
    ),
    Company("the batch of images", "n", (_WIDTHS,), frozenset("mk"), ("8", "1")),
    Company("the height of an image", "h", (_WIDTHS,), frozenset("dlst"), ("128", "64")),
    Company("a side of a filter", "kd", (_OF_FILTERS - {"kd"},), _NONE, ("3", "1")),
    Company("a side of a filter", "kh", (_OF_FILTERS - {"kh"},), _NONE, ("3", "1")),
    Company("a side of a filter", "kw", (_OF_FILTERS - {"kw"},), _NONE, ("3", "1")),
    Company(
        "the best of some scores",
        "k",
        (frozenset(["scores", "logits", "x"]),),
        frozenset("mn"),
        ("8", "2"),
    ),
    Company("the axis of a reduction", "dim", (frozenset(["shape"]),), _NONE, ("1", "-1")),
    # flash-linear-attention: blocks of BT x BS, and the numbers of BK in K and of BV in V.
    Company("a tile of time steps", "bs", (frozenset(["bt"]),), _NONE, ("64", "32")),
    Company("the tiles of keys", "nk", (frozenset("k"), frozenset(["bk"])), _NONE, ("4", "2")),
    Company("the tiles of values", "nv", (frozenset("v"), frozenset(["bv"])), _NONE, ("2", "1")),
    # State-space models: a head's state of N x P, and products of R columns.
    Company("the width of a state", "n", (_HEADS, frozenset("p")), frozenset("mk"), ("128", "64")),
    Company(
        "the width of a head of a state-space model",
        "p",
        (_HEADS, frozenset("n")),
        frozenset("mk"),
        ("64", "128"),
    ),
    Company(
        "the rank of a state-space model's products",
        "r",
        (_HEADS, frozenset("n"), frozenset("p")),
        frozenset("mk"),
        ("4", "1"),
    ),
)
# Sizes of images before and after a convolution: ``ih``, ``hi``, ``h_in``, ``out_h``, ``cout``.
_OF_IMAGE = re.compile(r"(?:in_|out_|i|o)([cdhwl])|([cdhwl])(?:_?in|_?out|i|o)")
_IN_CONVOLUTION = {"k": ("3", "1"), "n": ("8", "1"), "b": ("8", "1")}
_IN_IMAGE = {"d": ("16", "8"), "h": ("64", "32"), "w": ("64", "32")}


def in_company(name: str, others: Collection[str]) -> Texts:
    """Values for a name whose meaning the `others` say; none for other names."""
    name = name.lower()
    others = {other.lower() for other in others}
    images = {letter for letter in map(_letter_of_image, others) if letter}
    if images >= {"h", "w"} or (images >= {"c"} and not others & {"m"}):
        letter = _letter_of_image(name)
        values = _IN_IMAGE.get(letter, ()) if letter else _IN_CONVOLUTION.get(name, ())
        if values:
            return values
    for one in _COMPANIES:
        if (
            name == one.name
            and all(others & names for names in one.required)
            and not others & (one.without - {name})
        ):
            return one.values
    return ()


def _letter_of_image(name: str) -> str:
    """The dimension of an image that a name with ``in`` or ``out`` is of; empty for others."""
    found = _OF_IMAGE.fullmatch(name)
    return (found[1] or found[2]) if found else ""
