"""The examples of the library's documentation give what they say."""

from __future__ import annotations

import doctest

import tirlens_counting


def test_the_examples_of_the_documentation() -> None:
    found = doctest.testmod(tirlens_counting)
    assert found.attempted >= 8
    assert found.failed == 0
