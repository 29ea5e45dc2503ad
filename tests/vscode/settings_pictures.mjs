// For each group of settings a picture: some of them in the folder's file, and what they do beside it.

import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { withBrowser } from "./window.mjs";

const given = JSON.parse(process.argv[2]);
const looks = { viewport: { width: 1240, height: 480 }, scale: 1 };
const file = join(given.folder, ".vscode/settings.json");
await mkdir(dirname(file), { recursive: true });
await writeFile(file, "{}\n");

await withBrowser({ ...given, ...looks }, async (open) => {
  const window = await open(given.address, given.folder, ".vscode/settings.json");
  const { page } = window;
  const settled = (ms = 1000) => page.waitForTimeout(ms);
  const set = async (name) => {
    await writeFile(file, `${JSON.stringify(given.pictures[name], undefined, 2)}\n`);
    await settled(2000);
  };
  // The imports give way to the kernel.
  const down = async () => {
    for (let line = 0; line < 4; line += 1) {
      await page.keyboard.press("Control+ArrowDown");
    }
  };
  const take = async (name) => {
    await page.mouse.move(200, 400);
    await settled(500);
    await window.screenshot(join(given.images, `settings-${name}.png`));
  };

  await window.command("View: Toggle Primary Side Bar Visibility");
  await set("estimates");
  await window.command("View: Split Editor Right");
  await window.openFile(given.file);
  await window.lenses(/8192.*a100-80-sxm/);
  // The settings take a third of the window.
  const box = await page.locator(".editor-group-container").nth(1).boundingBox();
  await page.mouse.move(box.x, 200);
  await page.mouse.down();
  await page.mouse.move(400, 200, { steps: 5 });
  await page.mouse.up();
  await page.keyboard.press("Control+2");
  await down();
  await window.lineMatching("for k in T.Pipelined(", /%|overlapped/);
  await settled(12_000);
  await take("estimates");

  await set("display");
  await settled(8000);
  const stages = await window.boxOf("def linear", "2");
  await page.mouse.click(stages.x + stages.width, stages.y + stages.height / 2);
  await page.keyboard.press("Backspace");
  await page.keyboard.type("4");
  await page.keyboard.press("Control+S");
  await down();
  await window.lenses(/\([-+]\d/);
  await settled(12_000);
  await take("display");

  await set("execution");
  await settled(8000);
  await window.statusTooltip(/Framework/);
  await page.locator('[id="tirlens.tirlens.status"]').hover();
  await settled();
  await window.screenshot(join(given.images, "settings-execution.png"));
});
