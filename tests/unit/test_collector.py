"""The collector of somebody else's process is left as it was."""

from __future__ import annotations

import gc

import pytest

from tirlens.collector import THRESHOLDS, looking_at_new_objects


def test_thresholds_hold_for_a_while_only() -> None:
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="inside"), looking_at_new_objects():
        assert gc.get_threshold() == THRESHOLDS
        raise ValueError("inside")
    assert gc.get_threshold() == before
