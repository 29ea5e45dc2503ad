"""Databases with the tables of ``nsys export --type sqlite``, schema 3.1 (Nsight Systems 2023)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

LAUNCHED = "start, end, deviceId, contextId, streamId, correlationId, globalPid"
COLUMNS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{LAUNCHED}, demangledName, shortName, mangledName, launchType,"
    " cacheConfig, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ,"
    " staticSharedMemory, dynamicSharedMemory, localMemoryPerThread, localMemoryTotal, gridId,"
    " sharedMemoryExecuted, graphNodeId, sharedMemoryLimitConfig",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{LAUNCHED}, bytes, copyKind, srcKind, dstKind, graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{LAUNCHED}, value, bytes, graphNodeId, memKind",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"{LAUNCHED}, graphId, graphExecId",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start, end, eventClass, globalTid, correlationId, nameId,"
    " returnValue, callchainId",
    "NVTX_EVENTS": "start, end, eventType, rangeId, category, color, text, globalTid, endGlobalTid,"
    " textId, domainId",
    "StringIds": "id PRIMARY KEY, value",
    "TARGET_INFO_GPU": "vmId, id, name, smCount, computeMajor, computeMinor",
    "TARGET_INFO_CUDA_DEVICE": "gpuId, cudaId, pid, uuid, numMultiprocessors",
}
PROCESS = (7 << 24) + (1 << 48)


def kernel(
    start: object,
    end: object,
    name: object = 1,
    correlation: object = None,
    graph_node: object = None,
    device: object = 0,
    process: object = PROCESS,
) -> tuple[object, ...]:
    """A row of CUPTI_ACTIVITY_KIND_KERNEL: 24 registers, 2 x 3 x 1 blocks of 128 threads."""
    return (
        *(start, end, device, 1, 7, correlation, process, name, 2, 3, 1, 1, 24, 2, 3, 1),
        *(128, 1, 1, 1024, 4096, 0, 0, 1, 32768, graph_node, 0),
    )


def write_export(
    path: Path, tables: dict[str, Iterable[Sequence[object]]], lacking: Sequence[str] = ()
) -> Path:
    """A database with the rows of tables; columns that are `lacking` are left out."""
    with sqlite3.connect(path) as database:
        for table, rows in tables.items():
            columns = COLUMNS[table].split(", ")
            kept = [i for i, column in enumerate(columns) if column not in lacking]
            database.execute(f"CREATE TABLE {table} ({', '.join(columns[i] for i in kept)})")
            database.executemany(
                f"INSERT INTO {table} VALUES ({', '.join('?' * len(kept))})",
                ([row[i] for i in kept] for row in rows),
            )
    database.close()
    return path
