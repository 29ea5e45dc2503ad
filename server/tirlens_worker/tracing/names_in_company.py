"""Values for parameters whose names mean something by the parameters beside them."""

from __future__ import annotations

import re
from typing import Collection, FrozenSet, Tuple

Texts = Tuple[str, ...]

# The meaning of a letter depends on the other parameters: k is a head dimension with v or h and
# without the m or n of a product; n is the batch of (n, s, h, d).  Each row: the letter, sets of
# names of which one each is required, names that are excluded, the values.  The first row that
# applies is used.
_HEADS = frozenset(["h", "hq", "qh", "heads", "num_heads", "nheads"])
_WIDTHS = frozenset(["w", "iw", "w_in", "in_w", "width"])
_OF_FILTERS = frozenset(["kd", "kh", "kw"])
_ROWS: Tuple[Tuple[str, Tuple[FrozenSet[str], ...], FrozenSet[str], Texts], ...] = (
    ("k", (_HEADS | {"v"},), frozenset("mn"), ("128", "64")),
    ("n", (_HEADS, frozenset(["s", "l", "t", "seq_len", "seqlen"])), frozenset("bm"), ("8", "1")),
    # A convolution of images with C channels by F filters.
    ("k", (frozenset("w"), frozenset("cf")), frozenset("m"), ("3", "1")),
    ("n", (frozenset("w"), frozenset("h"), frozenset("c")), frozenset("m"), ("8", "1")),
    ("d", (frozenset("w"), frozenset("h"), frozenset("c")), frozenset("m"), ("16", "8")),
    ("h", (frozenset("w"), frozenset("c")), frozenset("m"), ("64", "32")),
    ("w", (frozenset("h"), frozenset("c")), frozenset("m"), ("64", "32")),
    ("n", (_WIDTHS,), frozenset("mk"), ("8", "1")),
    ("h", (_WIDTHS,), frozenset("dlst"), ("128", "64")),
    ("kd", (_OF_FILTERS - {"kd"},), frozenset(), ("3", "1")),
    ("kh", (_OF_FILTERS - {"kh"},), frozenset(), ("3", "1")),
    ("kw", (_OF_FILTERS - {"kw"},), frozenset(), ("3", "1")),
    # The best k of some scores, or of a router's.
    ("k", (frozenset(["scores", "logits", "x"]),), frozenset("mn"), ("8", "2")),
    # The axis of a reduction.
    ("dim", (frozenset(["shape"]),), frozenset(), ("1", "-1")),
    # flash-linear-attention: blocks of BT x BS, and the numbers of BK in K and of BV in V.
    ("bs", (frozenset(["bt"]),), frozenset(), ("64", "32")),
    ("nk", (frozenset("k"), frozenset(["bk"])), frozenset(), ("4", "2")),
    ("nv", (frozenset("v"), frozenset(["bv"])), frozenset(), ("2", "1")),
    # State-space models: a head's state of N x P, and products of R columns.
    ("n", (_HEADS, frozenset("p")), frozenset("mk"), ("128", "64")),
    ("p", (_HEADS, frozenset("n")), frozenset("mk"), ("64", "128")),
    ("r", (_HEADS, frozenset("n"), frozenset("p")), frozenset("mk"), ("4", "1")),
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
    for letter, required, excluded, values in _ROWS:
        if (
            name == letter
            and all(others & one for one in required)
            and not others & (excluded - {letter})
        ):
            return values
    return ()


def _letter_of_image(name: str) -> str:
    """The dimension of an image that a name with ``in`` or ``out`` is of; empty for others."""
    found = _OF_IMAGE.fullmatch(name)
    return (found[1] or found[2]) if found else ""
