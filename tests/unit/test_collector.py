"""The collector of somebody else's process is left as it was."""

from __future__ import annotations

import gc
import weakref

import pytest

from tirlens.collector import (
    THRESHOLDS,
    collecting_cycles,
    exempt_present_objects,
    scanning_new_objects_only,
)


class _Node:
    def __init__(self) -> None:
        self.itself = self


def test_thresholds_hold_for_a_while_only() -> None:
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="inside"), scanning_new_objects_only():
        assert gc.get_threshold() == THRESHOLDS
        raise ValueError("inside")
    assert gc.get_threshold() == before


@pytest.mark.slow
def test_objects_that_refer_to_each_other_are_freed_though_others_are_exempt() -> None:
    before = gc.get_freeze_count()
    try:
        with collecting_cycles():
            node = _Node()
            reference = weakref.ref(node)
            exempt_present_objects()
            assert gc.get_freeze_count() == before
            del node
        assert reference() is None
        exempt_present_objects()
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()
