"""The cases of a test program: which of them launched a kernel."""

from __future__ import annotations

from typing import Any

from . import recording


def patch_config(module: Any) -> None:
    """Register a plugin that counts the cases with every pytest that starts."""
    get_config = module.get_config

    def with_plugin(*args: Any, **kwargs: Any) -> Any:
        config = get_config(*args, **kwargs)
        config.pluginmanager.register(Cases(), "tirlens-capture")
        return config

    module.get_config = with_plugin


class Cases:
    """A plugin of pytest that writes each case to the journal."""

    def __init__(self) -> None:
        self._launches_before = 0
        self._outcome = "passed"

    def pytest_runtest_logstart(self) -> None:
        """A case begins."""
        self._launches_before = recording.current().journal.launches
        self._outcome = "passed"

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A phase of a case has ended."""
        if self._outcome == "passed" and report.outcome != "passed":
            self._outcome = report.outcome

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """A case has ended."""
        journal = recording.current().journal
        has_launched = journal.launches > self._launches_before
        journal.case(nodeid, self._outcome, has_launched)
