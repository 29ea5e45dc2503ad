// Opens a window several times and reads what VS Code says of the activation of its extensions.

import { SECONDS, until, withBrowser } from "../vscode/window.mjs";

const given = JSON.parse(process.argv[2]);

// High enough for all rows: the list has only those on the screen.
const looks = { viewport: { width: 1400, height: 2800 } };

await withBrowser({ ...given, ...looks }, async (open) => {
  for (let number = 0; number < given.windows; number += 1) {
    const window = await open(given.address, given.folder, given.file);
    await window.lenses(/h100-sxm/, 120 * SECONDS);
    await window.command("Developer: Show Running Extensions");
    const rows = window.page.locator(".runtime-extensions-editor .monaco-list-row");
    const seen = await until("the activation times", 20 * SECONDS, async () => {
      const texts = await rows.allInnerTexts();
      return texts.some((text) => /TIRLens[^]*\d+ms/.test(text)) ? texts : undefined;
    });
    const times = Object.fromEntries(
      seen.map((text) => [text.split("\n")[0], Number(/(\d+)ms/.exec(text)?.[1] ?? NaN)]),
    );
    const { TIRLens: own, python: least } = times;
    console.log(JSON.stringify({ own_ms: own, least_ms: least, difference_ms: own - least, all_ms: times }));
    await window.page.close();
  }
});
