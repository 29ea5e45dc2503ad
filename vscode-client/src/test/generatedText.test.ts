import assert from "node:assert/strict";
import { test } from "node:test";
import { linesAcross, linesOf, linesToShow, linkedText, resources } from "../generatedText";
import type { GeneratedKernel } from "../protocol";

// The CUDA source has a loop of lines 2 and 3; the machine code has its table above two instructions.
const KERNEL: GeneratedKernel = {
  kernel: "k",
  call: "k(8)",
  arch: "sm_90",
  error: null,
  registers_per_thread: 40,
  spill_bytes: 0,
  resources_error: null,
  texts: {
    cuda: { text: "void k() {\n  for\n    f();\n  g();\n}\n", lines: [0, 6, 6, 7, 0] },
    sass: { text: "// 6 FADD\nFADD\nFMUL\nEXIT\n", lines: [6, 6, 7, 0], cuda_lines: [0, 3, 4, 0] },
    tir: { text: "for\n", lines: [6] },
  },
};

function text(language: "cuda" | "sass" | "tir") {
  const found = linkedText(KERNEL, language);
  assert.ok(found);
  return found;
}

test("a text is below a line that says what it is of", () => {
  const cuda = linkedText(KERNEL, "cuda", resources(KERNEL));
  assert.equal(cuda?.text.split("\n")[0], "// k(8) for sm_90: 40 registers a thread, no spills (ptxas)");
  assert.equal(cuda.text.split("\n")[3], "    f();");
  assert.equal(text("tir").text, "# k(8) for sm_90\nfor\n");
  assert.equal(linkedText({ ...KERNEL, texts: {} }, "cuda"), undefined);
  assert.equal(resources({ ...KERNEL, registers_per_thread: null }), "");
  assert.match(resources({ ...KERNEL, spill_bytes: 16 }), /16 bytes spilled/);
});

const across: [from: "cuda" | "sass" | "tir", line: number, to: "cuda" | "sass" | "tir", expected: number[]][] = [
  // An instruction belongs to its own line of the CUDA source, and back.
  ["sass", 3, "cuda", [4]],
  ["cuda", 4, "sass", [3]],
  ["sass", 4, "cuda", [5]],
  // Without an instruction of its own, by the line of the source.
  ["cuda", 3, "sass", [2, 3]],
  ["sass", 2, "cuda", [3, 4]],
  ["tir", 2, "sass", [2, 3]],
  ["sass", 3, "tir", [2]],
  // What belongs to no line.
  ["cuda", 1, "sass", []],
  ["sass", 5, "cuda", []],
];
for (const [from, line, to, expected] of across) {
  test(`line ${line} of ${from} in ${to}`, () => {
    assert.deepEqual(linesAcross(text(from), line, text(to)), expected);
  });
}

test("the lines of a line of the source", () => {
  assert.deepEqual(linesOf(text("sass"), 6), [2, 3]);
  assert.deepEqual(linesOf(text("sass"), 9), []);
  assert.deepEqual(linesOf(text("sass"), 0), []);
});

test("an instruction is shown rather than the table above it", () => {
  assert.deepEqual(linesToShow(text("sass"), [2, 3]), [3]);
  assert.deepEqual(linesToShow(text("sass"), [2]), [2]);
  assert.deepEqual(linesToShow(text("cuda"), [3, 4]), [3, 4]);
});
