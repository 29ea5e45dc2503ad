import assert from "node:assert/strict";
import { test } from "node:test";
import { words } from "../words";

test("quotes hold a word together", () => {
  assert.deepEqual(words(`pytest "my benchmarks" -k 'gemm and fp8'`), [
    "pytest",
    "my benchmarks",
    "-k",
    "gemm and fp8",
  ]);
  assert.deepEqual(words("  "), []);
});
