"""Random kernels of single threads: gathers, scatters, atomics, guards by lane, warp and data.

One body is spelled for tilelang and for apache-tvm.  All accesses are inside of their arrays.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

TVM, TILELANG = "tvm", "tilelang"
#: Arrays in global memory: type and shape.  Those of indices are only read, or only updated.
ARRAYS = {
    "A": ("float32", (64, 96)), "V": ("float32", (4096,)), "H": ("float16", (2048,)),
    "P": ("int32", (1024,)), "Q": ("int32", (32, 16)), "K": ("int32", (512,)),
    "G": ("float32", (256,)), "C": ("int32", (8,)), "O": ("float32", (4096,)),
}  # fmt: skip
INDICES = ("P", "Q")
SHARED = 256


@dataclass
class _Kernel:
    framework: str
    choose: random.Random
    threads: int
    lines: list[str] = field(default_factory=list)
    #: The integers that a statement can name, all of them below 256.
    names: tuple[str, ...] = ("bx", "tx")
    fresh: int = 0
    depth: int = 0
    #: The share of indices that are from memory.
    data_share: float = 0.45

    @property
    def is_tilelang(self) -> bool:
        return self.framework == TILELANG

    def add(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def name(self, letter: str) -> str:
        self.fresh += 1
        return f"{letter}{self.fresh}"

    # -- numbers --------------------------------------------------------------------------------

    def warp(self) -> str:
        own = ["T.get_warp_idx()", "T.get_warp_idx_sync()", "T.shfl_sync(tx // 32, 0)"]
        other = ["T.cuda.thread_rank() // 32",
                 "T.tvm_warp_shuffle(T.tvm_warp_activemask(), tx // 32, 0, 32, 32)"]  # fmt: skip
        return self.choose.choice([*(own if self.is_tilelang else other), "tx // 32"])

    def lane(self) -> str:
        own = "T.get_lane_idx()" if self.is_tilelang else "T.cuda.thread_rank() % 32"
        return self.choose.choice([own, "tx % 32"])

    def number(self) -> str:
        """A number that follows from indices, never negative and below 4096."""
        name, other = self.choose.choice(self.names), self.choose.choice(self.names)
        return self.choose.choice([
            "bx * 128 + tx", "tx", name, f"{name} * 3 + {other}",
            f"{self.warp()} * 32 + {self.lane()}",
            f"{self.lane()} * 8 + {name}", f"tx * {self.choose.choice((2, 5, 8))} + {name}",
            f"({name} + {other}) // 2", f"{name} ^ {self.choose.choice((1, 5, 16))}",
        ])  # fmt: skip

    def key(self) -> str:
        """A number from memory, or one that nobody knows."""
        array = self.choose.choice(INDICES)
        found = self.element(array)
        forms = [found] * 5 + [f"P[{found} % 1024]", f"{found} + {self.number()}",
                               f"T.if_then_else(tx < 16, {found}, {self.number()})"]  # fmt: skip
        if self.is_tilelang:
            forms += [f"T.__ldg({found})", f"T.atomic_load({found})",
                      f"T.call_pure_extern('int32', 'hash', {self.number()})"]  # fmt: skip
        else:
            forms += [f"T.call_pure_extern('int32', 'hash', {self.number()})"]
        return self.choose.choice(forms)

    def index(self) -> str:
        return self.key() if self.choose.random() < self.data_share else self.number()

    def element(self, array: str, by_data: bool = False) -> str:
        _, shape = ARRAYS[array]
        numbers = [self.index() if by_data else self.number() for _ in shape]
        inside = ", ".join(
            f"({number}) % {size}" for number, size in zip(numbers, shape, strict=True)
        )
        return f"{array}[{inside}]"

    def value(self, dtype: str, depth: int = 1) -> str:
        if dtype == "int32":
            array = self.choose.choice(("P", "Q"))
            source = self.element(array, by_data=True)
            other = self.element(array) if depth else "3"
            return self.choose.choice([source, f"{source} + {other}", f"({source} ^ {other}) * 2",
                                       f"T.min({source}, {other})"])  # fmt: skip
        array = self.choose.choice(("A", "V", "H"))
        source = self.element(array, by_data=True)
        if ARRAYS[array][0] != dtype:
            source = f'T.cast({source}, "{dtype}")'
        if not depth:
            return source
        other = self.value(dtype, depth - 1)
        return self.choose.choice([
            source, f"{source} * {other}", f"{source} + {other} * {source}", f"T.exp({source})",
            f"T.max({source}, {other})", f"T.if_then_else({self.guard()}, {source}, {other})",
        ])  # fmt: skip

    def guard(self) -> str:
        few = self.choose.choice((1, 5, 8, 31))
        forms = [f"{self.lane()} < {few}", f"{self.lane()} % 2 == 0", f"{self.warp()} == 0",
                 f"tx < {few * 3}", f"bx == 1 and {self.lane()} == {few}",
                 f"(tx ^ {few}) > tx"]  # fmt: skip
        if self.is_tilelang:
            forms += ["T.shuffle_elect(0)", "T.shuffle_elect(32)"]
        else:
            forms += ["T.cuda.thread_rank() == 0"]
        return self.choose.choice(forms)

    # -- statements -----------------------------------------------------------------------------

    def statement(self) -> None:
        kinds = ["store"] * 4 + ["scatter"] * 3 + ["atomic"] * 4 + ["queue", "shared", "integers"]
        kinds += ["pointer"] if not self.is_tilelang else ["wide"] * 2
        if self.depth < 5:
            kinds += ["guard"] * 4 + ["loop"] * 3 + ["data", "vote"]
        getattr(self, "_" + self.choose.choice(kinds))()

    def body(self) -> None:
        self.depth += 1
        for _ in range(self.choose.randint(1, 2)):
            self.statement()
        self.depth -= 1

    def _store(self) -> None:
        self.add(f"{self.element('O')} = {self.value('float32')}")

    def _scatter(self) -> None:
        array = self.choose.choice(("O", "G"))
        self.add(f"{self.element(array, by_data=True)} = {self.value('float32')}")

    def _integers(self) -> None:
        self.add(f"{self.element('K', by_data=True)} = {self.value('int32')}")

    def _shared(self) -> None:
        position = f"({self.index()}) % {SHARED}"
        self.add(f"S[{position}] = S[({self.index()}) % {SHARED}] + {self.value('float32', 0)}")

    def _atomic(self) -> None:
        array = self.choose.choice(("G", "O", "C", "S"))
        dtype = "float32" if array == "S" else ARRAYS[array][0]
        if array == "S":
            target = f"S[({self.index()}) % {SHARED}]"
        else:
            target = self.element(array, by_data=True)
        value = "1" if dtype == "int32" else self.value(dtype, 0)
        kind = self.choose.choice(("add", "add", "max")) if self.is_tilelang else "add"
        self.add(self._update(target, value, kind))

    def _update(self, target: str, value: str, kind: str = "add") -> str:
        if self.is_tilelang:
            return f"T.atomic_{kind}({target}, {value})"
        return f"T.evaluate(T.cuda.atomic_add(T.address_of({target}), {value}))"

    def _pointer(self) -> None:
        name = self.name("p")
        self.add(f"{name} = T.address_of({self.element('O', by_data=True)})")
        self.add(f"T.evaluate(T.cuda.atomic_add({name}, {self.value('float32', 0)}))")

    def _queue(self) -> None:
        name, target = self.name("n"), self.element("C")
        if self.is_tilelang:
            self.add(f"{name} = T.atomic_add({target}, 1, return_prev=True)")
        else:
            self.add(f"{name}: T.int32 = T.cuda.atomic_add(T.address_of({target}), 1)")
        self.add(f"O[{name} % 4096] = {self.value('float32', 0)}")

    def _wide(self) -> None:
        row = f"V[({self.index()}) % 1024 * 4]"
        predicate = self.choose.choice(["", f", {self.guard()}"])
        self.add(f"T.evaluate(T.ldg128({row}{predicate}))")

    def _guard(self) -> None:
        self.add(f"if {self.guard()}:")
        self.body()
        if self.choose.random() < 0.4:
            self.add("else:")
            self.body()

    def _data(self) -> None:
        self.add(
            f"if {self.element(self.choose.choice(INDICES))} < {self.choose.randint(0, 4096)}:"
        )
        self.body()

    def _vote(self) -> None:
        if not self.is_tilelang:
            self._data()
            return
        self.add(f"if T.any_sync({self.lane()} < {self.choose.choice((3, 40))}):")
        self.body()

    def _loop(self) -> None:
        name = self.name("i")
        bound = self.choose.choice([str(self.choose.randint(1, 4)), f"{self.warp()} + 1",
                                    f"{self.lane()} // 8 + 1", "bx + 1", "tx % 3"])  # fmt: skip
        self.add(f"for {name} in T.serial({bound}):")
        outer, self.names = self.names, (*self.names, name)
        self.body()
        self.names = outer


def program(framework: str, seed: int) -> str:
    """The text of a module with one kernel `main`."""
    choose = random.Random(f"{framework} {seed}")
    blocks, threads = choose.choice((2, 4, 6)), choose.choice((32, 64, 96, 128))
    share = choose.choice((0.0, 0.2, 0.5))
    kernel = _Kernel(framework, choose, threads, data_share=share)
    kernel.depth = 2 if kernel.is_tilelang else 3
    for _ in range(choose.randint(2, 4)):
        kernel.statement()
    kind = "Tensor" if kernel.is_tilelang else "Buffer"
    parameters = "".join(
        f'    {name}: T.{kind}({shape}, "{dtype}"),\n' for name, (dtype, shape) in ARRAYS.items()
    )
    if kernel.is_tilelang:
        head = "import tilelang.language as T\n\n\n@T.prim_func\n"
        launch = (
            f"    with T.Kernel({blocks}, threads={threads}) as bx:\n"
            f"        tx = T.get_thread_binding()\n"
            f'        S = T.alloc_shared(({SHARED},), "float32")\n'
        )
    else:
        head = "from tvm.script import tirx as T\n\n\n@T.prim_func(s_tir=True)\n"
        launch = (
            f'    S = T.sblock_alloc_buffer(({SHARED},), "float32", scope="shared")\n'
            f'    for bx in T.thread_binding({blocks}, thread="blockIdx.x"):\n'
            f'        for tx in T.thread_binding({threads}, thread="threadIdx.x"):\n'
        )
    return f"{head}def main(\n{parameters}):\n{launch}" + "\n".join(kernel.lines) + "\n"
