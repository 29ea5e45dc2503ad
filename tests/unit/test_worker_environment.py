"""The environment variables of a worker: no token of the editor's environment reaches it."""

from __future__ import annotations

import pytest

from tirlens.settings import Settings
from tirlens.worker_client.process import worker_environment

ALLOWED = [
    "PATH",
    "HOME",
    "LC_ALL",
    "PYTHONPATH",
    "CUDA_HOME",
    "TVM_HOME",
    "TILELANG_TARGET",
    "Path",
]
SECRET = [
    "GITHUB_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "OPENAI_API_KEY",
    "SSH_AUTH_SOCK",
    "CONDA_TOKEN",
    "TVM_API_KEY",
    "PYTHON_KEYRING_PASSWORD",
    "http_proxy",
    "HF_HOME",
]


@pytest.mark.parametrize("name", ALLOWED)
def test_what_frameworks_need_is_there(name: str) -> None:
    assert worker_environment({name: "x"})[name] == "x"


@pytest.mark.parametrize("name", SECRET)
def test_other_variables_are_not(name: str) -> None:
    assert name not in worker_environment({name: "x"})


def test_settings_name_further_variables() -> None:
    settings, problems = Settings.from_mapping({"environment": ["HF_*", "ONE"]})
    assert not problems
    base = {"HF_HOME": "x", "HF_TOKEN": "y", "ONE": "z", "TWO": "w"}
    found = worker_environment(base, settings.environment)
    assert found.keys() & base.keys() == {"HF_HOME", "HF_TOKEN", "ONE"}


@pytest.mark.parametrize("value", [3, ["A B"], [1], ["A="]])
def test_names_are_checked(value: object) -> None:
    settings, problems = Settings.from_mapping({"environment": value})
    assert settings.environment == ()
    assert problems and "names of environment variables" in problems[0]
