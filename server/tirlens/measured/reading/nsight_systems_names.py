"""What the rows of an export of Nsight Systems refer to by numbers: names, devices, domains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from tirlens.measured.reading.nsight_systems_database import (
    CUDA_DEVICES,
    GPUS,
    RANGE_COLUMNS,
    RANGES,
    Database,
    Row,
    whole_number,
)
from tirlens.measured.records import MeasuredDevice, Problem

# ENUM_NSYS_EVENT_TYPE: the creation of a domain of NVTX.
_DOMAIN = 75

_NAME_CHARACTERS = 1 << 16
_NAMES_IN_MEMORY = 1024
_DEVICES = 4096


class Names:
    """The strings, devices and domains of a database.

    Attributes
    ----------
    devices
        The GPUs by their numbers in the database.
    problems
        The domains whose names are not known.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._string = lru_cache(_NAMES_IN_MEMORY)(self._read_string)
        self.kernel = lru_cache(_NAMES_IN_MEMORY)(self._read_kernel)
        self.device = lru_cache(_DEVICES)(self._read_device)
        self.devices: Mapping[int, MeasuredDevice] = dict(self._read_gpus())
        self.problems: list[Problem] = []
        self._domains = dict(self._read_domains())

    def _read_string(self, identifier: int) -> str | None:
        if not self._database.has("StringIds", "id", "value"):
            return None
        row = self._database.connection.execute(
            "SELECT substr(value, 1, ?) FROM StringIds WHERE id = ?",
            (_NAME_CHARACTERS, identifier),
        ).fetchone()
        return None if row is None or row[0] is None else str(row[0])

    def _read_kernel(
        self, demangled: int | None, short: int | None, mangled: int | None
    ) -> tuple[str, Mapping[str, str]]:
        """The name of a kernel, and its other names."""
        names = {
            label: name
            for label, identifier in (("short_name", short), ("mangled_name", mangled))
            if identifier is not None and (name := self._string(identifier)) is not None
        }
        name = None if demangled is None else self._string(demangled)
        return name or names.get("short_name") or "", names

    def _read_gpus(self) -> Iterator[tuple[int, MeasuredDevice]]:
        if not self._database.has(GPUS, "id", "name"):
            return
        has = self._database.columns[GPUS]
        wanted = ("id", "name", "smCount", "computeMajor", "computeMinor")
        columns = ", ".join(name if name in has else f"NULL AS {name}" for name in wanted)
        for row in self._database.connection.execute(
            f"SELECT {columns} FROM {GPUS} ORDER BY id LIMIT {_DEVICES}"
        ):
            gpu_id, major, minor = (row["id"], row["computeMajor"], row["computeMinor"])
            if not isinstance(gpu_id, int):
                continue
            name = str(row["name"] or "GPU")
            known = isinstance(major, int) and isinstance(minor, int)
            cores = row["smCount"]
            yield (
                gpu_id,
                MeasuredDevice(
                    f"{name} ({gpu_id})",
                    name,
                    f"sm_{major}{minor}" if known else None,
                    cores if isinstance(cores, int) and cores > 0 else None,
                ),
            )

    def _read_device(self, number: int | None, process: int | None) -> str | None:
        """The device of a number of CUDA's, which CUDA_VISIBLE_DEVICES changes in a process."""
        if number is None:
            return None
        gpu_id = number
        if process and self._database.has(CUDA_DEVICES, "gpuId", "cudaId", "pid"):
            row = self._database.connection.execute(
                f"SELECT gpuId FROM {CUDA_DEVICES} WHERE cudaId = ? AND pid = ?",
                (number, process >> 24 & 0xFFFFFF),
            ).fetchone()
            gpu_id = number if row is None else row[0]
        gpu = self.devices.get(gpu_id)
        return str(number) if gpu is None else gpu.device

    def _read_domains(self) -> Iterator[tuple[tuple[int | None, int | None], str]]:
        """The names of NVTX's domains in each process."""
        if not self._database.has(RANGES, "eventType", *RANGE_COLUMNS):
            return
        for row in self._database.connection.execute(
            f"SELECT rowid AS row, domainId, globalTid, text, textId FROM {RANGES}"
            f" WHERE eventType = {_DOMAIN} LIMIT {_DEVICES}"
        ):
            try:
                key, name = (whole_number(row, "domainId"), _process(row)), self._text(row)
            except ValueError as error:
                message = f"{RANGES}, row {row['row']}: {error}"
                self.problems.append(Problem(self._database.position(row), message))
                continue
            if name is not None:
                yield key, name

    def range(self, row: Row) -> str:
        """The name of a range or mark, with its domain if that is not the default."""
        domain = self._domains.get((whole_number(row, "domainId") or 0, _process(row)))
        text = self._text(row) or ""
        return f"{domain}:{text}" if domain else text

    def _text(self, row: Row) -> str | None:
        text = row["text"]
        if isinstance(text, str):
            return text[:_NAME_CHARACTERS]
        identifier = whole_number(row, "textId")
        return None if identifier is None else self._string(identifier)


def _process(row: Row) -> int | None:
    """The ``globalPid`` of an event of the host, shifted right by 24 bits."""
    thread = whole_number(row, "globalTid")
    return None if thread is None else thread >> 24
