// What save_to_hint.py measures, in a window of its own.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { SECONDS, until, withBrowser } from "../vscode/window.mjs";

const given = JSON.parse(process.argv[2]);
/** Until the kernels of a save are lowered, and the window is quiet again. */
const REST = 6 * SECONDS;
const PATIENCE = 20 * SECONDS;

function median(values) {
  const ordered = [...values].sort((one, other) => one - other);
  const half = Math.floor(ordered.length / 2);
  return ordered.length % 2 ? ordered[half] : (ordered[half - 1] + ordered[half]) / 2;
}

/** Starts to watch for the new line, the key of the save, the squiggle and the hint. */
async function watch(page, { text, hints }) {
  await page.evaluate(
    ([text, hints, hinted]) => {
      const lines = () =>
        [...document.querySelectorAll(".monaco-editor .view-line")].map((line) => line.textContent.replaceAll("\u00a0", " "));
      const squiggles = () => document.querySelectorAll(".monaco-editor .squiggly-warning").length;
      const before = squiggles();
      const seen = {};
      const conditions = {
        edit: () => lines().some((line) => line.includes(text.trimEnd())),
        squiggle: () => squiggles() > before,
        hint: () => lines().some((line) => line.includes(hinted) && hints.some((hint) => line.trimEnd().endsWith(hint))),
      };
      const press = (event) => {
        if (event.ctrlKey && event.key.toLowerCase() === "s") {
          seen.save = performance.now();
          window.removeEventListener("keydown", press, true);
        }
      };
      window.addEventListener("keydown", press, true);
      const observer = new MutationObserver(() => {
        for (const [name, holds] of Object.entries(conditions)) {
          if (seen[name] === undefined && (name === "edit" || seen.edit !== undefined) && holds()) {
            seen[name] = performance.now();
          }
        }
      });
      observer.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
      window.benchmark = { seen, stop: () => observer.disconnect() };
    },
    [text, hints, given.hinted],
  );
}

/** Replaces the line at the cursor's place in one edit and saves. */
async function replace(page, at, text) {
  await page.keyboard.press("Control+G");
  await page.locator(".quick-input-widget input").first().fill(`:${at.line}:${at.column}`);
  await page.keyboard.press("Enter");
  await page.locator('[id="status.editor.selection"]').filter({ hasText: `Ln ${at.line}, Col ${at.column}` }).waitFor();
  await page.keyboard.press("Shift+End");
  return async () => {
    await page.keyboard.insertText(text);
    await page.keyboard.press("Control+S");
  };
}

await withBrowser({ ...given, viewport: { width: 1500, height: 1500 } }, async (open) => {
  const path = join(given.folder, given.file);
  const lines = (await readFile(path, "utf8")).split("\n");
  const index = lines.findIndex((line) => line.includes(given.original.text));
  const at = { line: index + 1, column: lines[index].indexOf(given.original.text) + 1 };
  const window = await open(given.address, given.folder, given.file);
  const { page } = window;
  page.setDefaultTimeout(PATIENCE);
  const displayed = (hints) =>
    until(`one of the hints ${hints.join(" or ")} at ${given.hinted}`, 3 * PATIENCE, async () => {
      const line = await window.line(given.hinted);
      return hints.some((hint) => line.trimEnd().endsWith(hint)) ? line : undefined;
    });
  await displayed(given.original.hints);
  await page.waitForTimeout(REST);
  const times = { save: [], squiggle: [], hint: [] };
  for (const [number, round] of given.rounds.entries()) {
    const edit = await replace(page, at, round.text);
    await watch(page, round);
    await edit();
    const seen = await until(`round ${number + 1}: save, squiggle and hint`, PATIENCE, async () => {
      const now = await page.evaluate(() => window.benchmark.seen);
      return ["edit", "save", "squiggle", "hint"].every((name) => name in now) ? now : undefined;
    }).catch(async (error) => {
      const now = JSON.stringify(await page.evaluate(() => window.benchmark.seen));
      throw new Error(`${error.message}; seen ${now}; the line: ${await window.line(given.hinted)}; expected ${round.hints}`);
    });
    await page.evaluate(() => window.benchmark.stop());
    const saved = (await readFile(path, "utf8")).split("\n")[index].trimStart();
    if (saved !== round.text) {
      throw new Error(`round ${number + 1} saved ${saved} and not ${round.text}`);
    }
    if (number >= given.warmUp) {
      for (const name of Object.keys(times)) {
        times[name].push(seen[name] - seen.edit);
      }
    }
    // The first text again: the squiggle of the next round is a new one.
    const back = await replace(page, at, given.original.text);
    await back();
    await displayed(given.original.hints);
    await page.waitForTimeout(REST);
  }
  const listed = (values) => values.map((value) => Math.round(value)).join(", ");
  for (const [name, values] of Object.entries(times)) {
    console.log(`edit to ${name}, ms: ${listed(values)}; median ${Math.round(median(values))}`);
  }
  const hints = times.hint.map((value, number) => value - times.save[number]);
  console.log(`save to hint, ms: ${listed(hints)}; median ${Math.round(median(hints))}`);
  console.log(`hint / squiggle, from the edit: ${(median(times.hint) / median(times.squiggle)).toFixed(2)}`);
});
