// The pictures of the extension's page: a film of an edit, a save, an advice taken and a save,
// and the pictures of the walkthrough's steps.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withBrowser } from "./window.mjs";

const given = JSON.parse(process.argv[2]);
const looks = { viewport: { width: 1000, height: 560 }, scale: 1 };
const frames = [];

await withBrowser({ ...given, ...looks }, async (open) => {
  const window = await open(given.address, given.folder, given.file);
  const { page } = window;
  const settled = (ms = 700) => page.waitForTimeout(ms);

  /** Takes a frame that is shown for so long. */
  async function frame(ms) {
    const name = `frame-${String(frames.length).padStart(2, "0")}.png`;
    await window.screenshot(join(given.frames, name));
    frames.push([name, ms]);
  }

  await window.lenses(/h100-sxm/);
  await window.lineMatching("T.gemm(", /%|hidden/);
  await window.command("View: Toggle Primary Side Bar Visibility");
  for (let line = 0; line < 4; line += 1) {
    await page.keyboard.press("Control+ArrowDown");
  }
  // The lowered launch arrives in the background.
  await settled(15_000);
  await window.screenshot(join(given.media, "hints.png"));
  await frame(1800);

  // The edit, letter by letter, and the save.
  const rows = await window.boxOf("BM=", "128");
  await page.mouse.click(rows.x + rows.width, rows.y + rows.height / 2);
  await settled();
  await frame(500);
  for (let digit = 0; digit < 3; digit += 1) {
    await page.keyboard.press("Backspace");
  }
  await frame(300);
  await page.keyboard.type("256");
  await frame(700);
  await page.keyboard.press("Control+S");
  await settled(15_000);
  await frame(2200);

  // The advice.
  const actions = await window.codeActions("with T.Kernel(");
  await settled();
  await frame(1600);
  await window.chooseAction(actions.find((title) => /saves about/.test(title)) ?? actions[0]);
  await settled();
  await frame(900);
  await page.keyboard.press("Control+S");
  await settled(15_000);
  await frame(2600);

  await window.command("TIRLens: Choose Device");
  await window.choices(/in use/);
  // Nothing is below the pointer: no tooltip, no highlighted border.
  await page.mouse.move(250, 505);
  await settled(1500);
  await window.screenshot(join(given.media, "devices.png"));
  await page.keyboard.press("Escape");
  await window.command("TIRLens: Show Report");
  await window.webview(/matmul/);
  await page.mouse.move(250, 505);
  await settled(3000);
  await window.screenshot(join(given.media, "report.png"));
});
await writeFile(join(given.frames, "frames.json"), JSON.stringify(frames));
