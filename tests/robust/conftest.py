"""A real server for each test, ended with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from support.robust import FULL, new_mark
from support.rpc import Client

Start = Callable[..., Client]
_FULL_LIMIT_S = 3 * 3600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The whole numbers take longer than a test otherwise may."""
    for item in items if FULL else ():
        item.add_marker(pytest.mark.timeout(_FULL_LIMIT_S))


@pytest.fixture
def mark() -> dict[str, str]:
    """What all processes that come from this test's server have in their environment."""
    return new_mark()


@pytest.fixture
def start(mark: dict[str, str]) -> Iterator[Start]:
    """Start a server; further environment variables by keyword."""
    started: list[Client] = []

    def make(*arguments: str, **environment: str) -> Client:
        started.append(Client(*arguments, environment={**environment, **mark}))
        return started[-1]

    yield make
    for client in started:
        client.kill()
