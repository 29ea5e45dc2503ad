"""Calls of a file's kernels in the other files of its repository, from their text alone."""

from tirlens.evaluation.search_result import RepositoryCall, Search, Target
from tirlens.repository.git import (
    GitError,
    GitMissingError,
    commit_of,
    commits_of_file,
    git,
    root_of_git,
    text_at,
)
from tirlens.repository.kernel_calls import (
    merge_calls,
    root_of,
    searched_kernels,
    targets_of,
    with_calls,
)
from tirlens.repository.search_client import SearchClient

__all__ = [
    "GitError",
    "GitMissingError",
    "RepositoryCall",
    "Search",
    "SearchClient",
    "Target",
    "commit_of",
    "commits_of_file",
    "git",
    "merge_calls",
    "root_of",
    "root_of_git",
    "searched_kernels",
    "targets_of",
    "text_at",
    "with_calls",
]
