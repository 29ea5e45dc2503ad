// The README's picture: a kernel with its lens and hints, and the hover of its main operation.

import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { withBrowser } from "./window.mjs";

const given = JSON.parse(process.argv[2]);
const { kernel } = given;

// 1400 x 800 pixels, a little larger than life so that it can be read in a narrow column.
const looks = { viewport: { width: 1120, height: 640 }, scale: 1.25 };

await withBrowser({ ...given, ...looks }, async (open) => {
  const window = await open(given.address, given.folder, kernel.file);
  await window.lenses(/ \| .*h100-sxm$/);
  await window.lineMatching(kernel.operation, /%|overlapped/);
  await window.command("View: Toggle Primary Side Bar Visibility");
  await window.page.waitForTimeout(500);
  // The import lines make room for the hover below its line.
  for (let line = 0; line < 6; line += 1) {
    await window.page.keyboard.press("Control+ArrowDown");
  }
  await window.page.waitForTimeout(500);
  await window.hover(kernel.operation, kernel.word);
  await mkdir(dirname(given.picture), { recursive: true });
  await window.screenshot(given.picture);
});
