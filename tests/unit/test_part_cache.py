"""The number of parts that are cached: by file, those of the last answers."""

from __future__ import annotations

from tirlens.pipeline import Part, PartCache

PART = Part(())


def keys(*names: str) -> dict[bytes, Part]:
    return {name.encode(): PART for name in names}


def known(cache: PartCache, path: str, *names: str) -> list[str]:
    return [name for name in names if name.encode() in cache.parts(path)]


def test_the_limit_is_of_answers_and_not_of_kernels() -> None:
    cache = PartCache(max_answers=2)
    first = [f"a{number}" for number in range(2000)]
    second = ["b0", *first[1:]]
    cache.add("file", keys(*first))
    cache.add("file", keys("b0"), [name.encode() for name in first[1:]])
    assert known(cache, "file", *first) == first, "the first answer is still cached"
    assert known(cache, "file", *second) == second
    cache.add("file", keys("c"))
    assert known(cache, "file", "a0", "b0", "c") == ["b0", "c"], "the last two answers are cached"


def test_a_repeated_answer_is_the_latest() -> None:
    cache = PartCache(max_answers=2)
    for name in "ab":
        cache.add("file", keys(name))
    cache.add("file", {}, [b"a"])
    cache.add("file", keys("c"))
    assert known(cache, "file", "a", "b", "c") == ["a", "c"]


def test_an_answer_in_several_steps_counts_once() -> None:
    cache = PartCache(max_answers=2)
    cache.add("file", keys("first tier"))
    for number in range(10):
        before = [f"l{other}".encode() for other in range(number)]
        cache.add("file", keys(f"l{number}"), before)
    assert known(cache, "file", "first tier", "l0", "l9") == ["first tier", "l0", "l9"]


def test_the_oldest_file_is_removed() -> None:
    cache = PartCache(max_files=2)
    for path in ("one", "two", "one", "three"):
        cache.add(path, keys("k"))
    assert [path for path in ("one", "two", "three") if known(cache, path, "k")] == ["one", "three"]
    cache.clear()
    assert not known(cache, "three", "k")
