"""The effect of integer instructions on a machine.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.
"""

from __future__ import annotations

from collections.abc import Callable

from tirlens_x86.comparisons import CONDITIONS, Comparison, to_signed
from tirlens_x86.listing import Instruction, memory_of
from tirlens_x86.machine import Machine, Value
from tirlens_x86.operations import operation_of
from tirlens_x86.registers import PARTS, SUFFIX_BITS

Handler = Callable[[Machine, tuple[str, ...], int], None]


def width(mnemonic: str, operands: tuple[str, ...]) -> int:
    """Bits of the operands of an integer instruction: of its registers, else by its suffix."""
    for operand in reversed(operands):
        if operand.startswith("%") and operand[1:] in PARTS:
            return PARTS[operand[1:]].bits
    return SUFFIX_BITS.get(mnemonic[-1], 64)


def execute(machine: Machine, instruction: Instruction) -> None:
    """The effect of an instruction that is no jump, call or return."""
    mnemonic, operands = instruction.mnemonic, instruction.operands
    if mnemonic[0] in "vk" or mnemonic.startswith("prefetch"):
        _vector(machine, instruction)
        return
    handler = _HANDLERS.get(mnemonic) or _HANDLERS.get(mnemonic[:-1])
    if handler is not None:
        handler(machine, operands, width(mnemonic, operands))
    elif mnemonic.startswith("cmov"):
        name = mnemonic[4:]
        _conditional_move(machine, name if name in CONDITIONS else name[:-1], operands)
    elif mnemonic.startswith("set"):
        holds_now = machine.condition(mnemonic[3:])
        machine.write(operands[0], 8, None if holds_now is None else int(holds_now))
    elif mnemonic.startswith(("movz", "movs")) and len(operands) == 2:
        _extend(machine, mnemonic, operands)
    elif mnemonic.startswith("nop"):
        return
    else:
        machine.flags = None
        if operands:
            machine.write(operands[-1], 64, None)


def _vector(machine: Machine, instruction: Instruction) -> None:
    """Vector instructions write general registers and memory with what is unknown."""
    mnemonic, operands = instruction.mnemonic, instruction.operands
    if "comis" in mnemonic or "test" in mnemonic:
        machine.flags = None
        return
    if not operands:
        return
    target = operands[-1]
    if target.startswith("%"):
        machine.set(target[1:], None)
    elif memory := memory_of(target):
        machine.store(memory, 8 * max(operation_of(instruction).store_bytes, 1), None)


def _conditional_move(machine: Machine, name: str, operands: tuple[str, ...]) -> None:
    holds_now = machine.condition(name)
    bits = width("", operands)
    if holds_now is None:
        machine.write(operands[1], bits, None)
    elif holds_now:
        machine.write(operands[1], bits, machine.read(operands[0], bits))


def _extend(machine: Machine, mnemonic: str, operands: tuple[str, ...]) -> None:
    source_bits = SUFFIX_BITS.get(mnemonic[4], 32)
    value = machine.read(operands[0], source_bits)
    if isinstance(value, int) and mnemonic.startswith("movs"):
        value = to_signed(value, source_bits)
    machine.write(operands[1], 64, value if isinstance(value, int) else None)


def _move(machine: Machine, operands: tuple[str, ...], bits: int) -> None:
    machine.write(operands[1], bits, machine.read(operands[0], bits))


def _load_address(machine: Machine, operands: tuple[str, ...], bits: int) -> None:
    memory = memory_of(operands[0])
    if memory is None:
        value: Value = None
    elif memory.symbol:
        value = memory.symbol
    else:
        value = machine.address(memory)
    machine.write(operands[1], bits, value)


def _arithmetic(
    function: Callable[[int, int], int], is_subtraction: bool = False, is_flagged: bool = True
) -> Handler:
    def handle(machine: Machine, operands: tuple[str, ...], bits: int) -> None:
        left, right = machine.read(operands[-1], bits), machine.read(operands[0], bits)
        machine.flags = None
        if not isinstance(left, int) or not isinstance(right, int):
            is_same = operands[0] == operands[-1] and function(5, 5) == 0
            machine.write(operands[-1], bits, 0 if is_same else None)
            if is_same:
                machine.flags = Comparison(0, 0, bits, True)
            return
        result = function(left, right) & ((1 << bits) - 1)
        if is_subtraction:
            machine.flags = Comparison(left, right & ((1 << bits) - 1), bits)
        elif is_flagged:
            machine.flags = Comparison(result, 0, bits, True)
        machine.write(operands[-1], bits, result)

    return handle


def _step(by: int) -> Handler:
    def handle(machine: Machine, operands: tuple[str, ...], bits: int) -> None:
        value = machine.read(operands[0], bits)
        if not isinstance(value, int):
            machine.flags = None
            machine.write(operands[0], bits, None)
            return
        result = (value + by) & ((1 << bits) - 1)
        machine.flags = Comparison(result, 0, bits, True)
        machine.write(operands[0], bits, result)

    return handle


def _unary(function: Callable[[int], int]) -> Handler:
    def handle(machine: Machine, operands: tuple[str, ...], bits: int) -> None:
        value = machine.read(operands[0], bits)
        result = function(value) & ((1 << bits) - 1) if isinstance(value, int) else None
        machine.flags = None if result is None else Comparison(result, 0, bits, True)
        machine.write(operands[0], bits, result)

    return handle


def _shift(function: Callable[[int, int, int], int]) -> Handler:
    def handle(machine: Machine, operands: tuple[str, ...], bits: int) -> None:
        value = machine.read(operands[-1], bits)
        by = machine.read(operands[0], 8) if operands[1:] else 1
        machine.flags = None
        if not isinstance(value, int) or not isinstance(by, int):
            machine.write(operands[-1], bits, None)
            return
        result = function(value, by % max(bits, 32), bits) & ((1 << bits) - 1)
        machine.flags = Comparison(result, 0, bits, True)
        machine.write(operands[-1], bits, result)

    return handle


def _multiply(machine: Machine, operands: tuple[str, ...], bits: int) -> None:
    machine.flags = None
    if len(operands) == 1:
        machine.set("rax", None)
        machine.set("rdx", None)
        return
    left, right = machine.read(operands[0], bits), machine.read(operands[1], bits)
    known = isinstance(left, int) and isinstance(right, int)
    machine.write(operands[-1], bits, left * right if known else None)  # type: ignore[operator]


def _compare(machine: Machine, operands: tuple[str, ...], bits: int) -> None:
    left, right = machine.read(operands[1], bits), machine.read(operands[0], bits)
    known = isinstance(left, int) and isinstance(right, int)
    machine.flags = Comparison(left, right, bits) if known else None  # type: ignore[arg-type]


def _test(machine: Machine, operands: tuple[str, ...], bits: int) -> None:
    left, right = machine.read(operands[1], bits), machine.read(operands[0], bits)
    if isinstance(left, int) and isinstance(right, int):
        machine.flags = Comparison(left & right, 0, bits)
    elif isinstance(left, str) and left == right:
        machine.flags = Comparison(1, 0, bits)  # a symbol's address is not 0
    else:
        machine.flags = None


def _test_bit(machine: Machine, operands: tuple[str, ...], bits: int) -> None:
    by, value = machine.read(operands[0], bits), machine.read(operands[1], bits)
    if isinstance(by, int) and isinstance(value, int):
        # The carry is the bit: "below" holds if it is set.
        machine.flags = Comparison(0, (value >> (by % bits)) & 1, bits)
    else:
        machine.flags = None


def _push(machine: Machine, operands: tuple[str, ...], bits: int) -> None:
    top = machine.registers["rsp"]
    assert isinstance(top, int)
    value = machine.read(operands[0], 64)
    machine.registers["rsp"] = top - 8
    machine.memory[top - 8] = (64, value)


def _pop(machine: Machine, operands: tuple[str, ...], bits: int) -> None:
    top = machine.registers["rsp"]
    assert isinstance(top, int)
    machine.write(operands[0], 64, machine.memory.get(top, (64, None))[1])
    machine.registers["rsp"] = top + 8


def _widen(bits: int) -> Handler:
    def handle(machine: Machine, operands: tuple[str, ...], _: int) -> None:
        value = machine.registers["rax"]
        known = isinstance(value, int)
        machine.set("rax" if bits == 64 else "eax", to_signed(value, bits // 2) if known else None)  # type: ignore[arg-type]

    return handle


def _widen_to_pair(bits: int) -> Handler:
    def handle(machine: Machine, operands: tuple[str, ...], _: int) -> None:
        value = machine.registers["rax"]
        name = "rdx" if bits == 64 else "edx"
        known = isinstance(value, int)
        machine.set(name, -1 if known and to_signed(value, bits) < 0 else 0 if known else None)  # type: ignore[arg-type]

    return handle


def _divide(machine: Machine, operands: tuple[str, ...], bits: int) -> None:
    names = ("rax", "rdx") if bits == 64 else ("eax", "edx")
    low, by = machine.get(names[0]), machine.read(operands[0], bits)
    machine.flags = None
    if not isinstance(low, int) or not isinstance(by, int) or not by:
        for name in names:
            machine.set(name, None)
        return
    left, right = to_signed(low, bits), to_signed(by, bits)
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    machine.set(names[0], quotient)
    machine.set(names[1], left - quotient * right)


_HANDLERS: dict[str, Handler] = {
    "mov": _move,
    "movabs": _move,
    "lea": _load_address,
    "add": _arithmetic(lambda a, b: a + b),
    "sub": _arithmetic(lambda a, b: a - b, is_subtraction=True),
    "and": _arithmetic(lambda a, b: a & b),
    "or": _arithmetic(lambda a, b: a | b),
    "xor": _arithmetic(lambda a, b: a ^ b),
    "imul": _multiply,
    "mul": _multiply,
    "inc": _step(1),
    "dec": _step(-1),
    "neg": _unary(lambda a: -a),
    "not": _unary(lambda a: ~a),
    "shl": _shift(lambda a, b, n: a << b),
    "sal": _shift(lambda a, b, n: a << b),
    "shr": _shift(lambda a, b, n: a >> b),
    "sar": _shift(lambda a, b, n: to_signed(a, n) >> b),
    "cmp": _compare,
    "test": _test,
    "bt": _test_bit,
    "push": _push,
    "pop": _pop,
    "cltq": _widen(64),
    "cwtl": _widen(32),
    "cltd": _widen_to_pair(32),
    "cqto": _widen_to_pair(64),
    "idiv": _divide,
}
