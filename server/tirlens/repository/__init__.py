"""Calls of a file's kernels in the other files of its repository, from their text alone."""

from tirlens.repository.git import (
    GitError,
    GitMissingError,
    commit_of,
    git,
    root_of_git,
    text_at,
)
from tirlens.repository.repository import Repository, merge_calls, root_of, searched_kernels
from tirlens.repository.search import find_calls
from tirlens.repository.search_result import RepositoryCall, Search, Target
from tirlens.repository.word_index import WordIndex

__all__ = [
    "GitError",
    "GitMissingError",
    "Repository",
    "RepositoryCall",
    "Search",
    "Target",
    "WordIndex",
    "commit_of",
    "find_calls",
    "git",
    "merge_calls",
    "root_of",
    "root_of_git",
    "searched_kernels",
    "text_at",
]
