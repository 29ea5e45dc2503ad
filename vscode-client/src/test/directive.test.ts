import assert from "node:assert/strict";
import { test } from "node:test";
import { directiveProblem } from "../directive";

test("calls and values have the form of a directive", () => {
  for (const text of [
    "matmul(4096, 4096, 4096)",
    "lib.attention((4, 32), causal=True, dtype='float16')",
    "M=4096, N=1024",
    'scale("a)b")',
    "f()",
  ]) {
    assert.equal(directiveProblem(text), undefined, text);
  }
});

test("what is wrong is said", () => {
  assert.match(directiveProblem("matmul(4096") ?? "", /"\)" is missing/);
  assert.match(directiveProblem("matmul(4096))") ?? "", /closes nothing/);
  assert.match(directiveProblem("matmul(4096]") ?? "", /closes nothing/);
  assert.match(directiveProblem("f('a)") ?? "", /quotation mark/);
  assert.match(directiveProblem("4096") ?? "", /Expected a call/);
  assert.match(directiveProblem("  ") ?? "", /needed/);
});
