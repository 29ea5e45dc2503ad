"""The collector of somebody else's process is left as it was."""

from __future__ import annotations

import gc

import pytest

from tirlens.collector import THRESHOLDS, scanning_new_objects_only


def test_thresholds_hold_for_a_while_only() -> None:
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="inside"), scanning_new_objects_only():
        assert gc.get_threshold() == THRESHOLDS
        raise ValueError("inside")
    assert gc.get_threshold() == before
