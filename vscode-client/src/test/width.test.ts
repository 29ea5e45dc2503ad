import assert from "node:assert/strict";
import { test } from "node:test";
import { columnWidths, roomOf } from "../width";

const LOOK = {
  fontSize: 14,
  lensFontSize: 0,
  letterSpacing: 0,
  lines: 29,
  hasGlyphMargin: true,
  hasFolding: true,
  hasLineNumbers: true,
  minimapColumns: 120,
  scrollbar: 14,
};

test("groups have their widths in the order of their columns", () => {
  const rows = { size: 600, groups: [{ size: 300 }, { size: 200 }] };
  assert.deepEqual(columnWidths({ orientation: 0, groups: [{ size: 743 }] }), [743]);
  assert.deepEqual(columnWidths({ orientation: 0, groups: [{ size: 400 }, rows] }), [400, 600, 600]);
  const columns = { size: 300, groups: [{ size: 350 }, { size: 250 }] };
  assert.deepEqual(columnWidths({ orientation: 1, groups: [{ size: 200 }, columns] }), [undefined, 350, 250]);
});

// The pixels of the text beside the side bar in windows of 800 to 1920 pixels, as measured.
for (const [width, text] of [
  [443, 313],
  [743, 581],
  [1083, 885],
  [1563, 1358],
] as const) {
  test(`the text of a group of ${width} pixels ends before the minimap`, () => {
    const { columns, lensCharacters } = roomOf(width, LOOK);
    assert.ok(columns * 8.43 <= text && columns * 8.43 > text - 20, `${columns} columns`);
    assert.ok(lensCharacters * 5.96 <= text, `${lensCharacters} characters`);
  });
}

test("a text without a minimap has more room", () => {
  const { columns } = roomOf(743, { ...LOOK, minimapColumns: 0 });
  assert.equal(columns, Math.floor((743 - 70.3 - 16) / 8.442));
});

test("a group without any room has none", () => {
  assert.deepEqual(roomOf(20, LOOK), { columns: 0, lensCharacters: 0 });
});
