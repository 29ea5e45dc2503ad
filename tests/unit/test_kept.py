"""How much of what workers have told is kept: by file, and no more than a few answers of each."""

from __future__ import annotations

from tirlens.pipeline import KeptParts, Part

PART = Part(())


def keys(*names: str) -> dict[bytes, Part]:
    return {name.encode(): PART for name in names}


def known(kept: KeptParts, path: str, *names: str) -> list[str]:
    return [name for name in names if kept.of(path)(name.encode()) is not None]


def test_any_number_of_kernels_has_room_in_several_versions() -> None:
    kept = KeptParts(answers=2)
    first = [f"a{number}" for number in range(2000)]
    second = ["b0", *first[1:]]
    kept.keep("file", keys(*first))
    kept.keep("file", keys("b0"), [name.encode() for name in first[1:]])
    assert known(kept, "file", *first) == first, "going back costs nothing"
    assert known(kept, "file", *second) == second
    kept.keep("file", keys("c"))
    assert known(kept, "file", "a0", "b0", "c") == ["b0", "c"], "the last two answers are kept"


def test_what_is_asked_again_is_kept_longer() -> None:
    kept = KeptParts(answers=2)
    for name in "ab":
        kept.keep("file", keys(name))
    kept.keep("file", {}, [b"a"])
    kept.keep("file", keys("c"))
    assert known(kept, "file", "a", "b", "c") == ["a", "c"]


def test_an_answer_that_comes_piece_by_piece_is_one() -> None:
    kept = KeptParts(answers=2)
    kept.keep("file", keys("first tier"))
    for number in range(10):
        before = [f"l{other}".encode() for other in range(number)]
        kept.keep("file", keys(f"l{number}"), before)
    assert known(kept, "file", "first tier", "l0", "l9") == ["first tier", "l0", "l9"]


def test_files_are_apart_and_the_oldest_goes() -> None:
    kept = KeptParts(files=2)
    for path in ("one", "two", "one", "three"):
        kept.keep(path, keys("k"))
    assert [path for path in ("one", "two", "three") if known(kept, path, "k")] == ["one", "three"]
    kept.forget()
    assert not known(kept, "three", "k")
