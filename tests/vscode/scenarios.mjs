// What a user does in VS Code and must see. Run by test_vscode.py with one JSON argument;
// prints one JSON line for each scenario: its name, whether it held, and what was seen.

import assert from "node:assert/strict";
import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SECONDS, until, withBrowser } from "./window.mjs";

const given = JSON.parse(process.argv[2]);

const TIME = String.raw`\d[\d.]* [num]?s`;
/** Such as `2.47 ms | waits on products: 256 threads save 687 us |`. */
const VERDICT = new RegExp(String.raw`^${TIME}( \(.+\))? \| (\w+ \d+% busy|waits on|.+ of peak)`);
/** Such as `81 us 93% | 137 GF | 1.2 GB`, or `81 us overlapped | 137 GF` beside slower work. */
const HINT = new RegExp(String.raw`${TIME} (<?\d[\d.]*%|overlapped)( \| \d[\d.]* [kMGT]?F)?( \| \d[\d.]* [kMGT]?B)?$`);
/** The longest text of the hints of one line before VS Code cuts it. */
const LONGEST_HINT = 43;

async function sees(window, kernel) {
  const lens = (await window.lenses(VERDICT)).find((text) => VERDICT.test(text));
  assert.ok(lens.includes(kernel.size), `${kernel.size} in ${lens}`);
  assert.ok(lens.endsWith("h100-sxm"), `the device last in ${lens}`);
  const hints = {};
  for (const code of kernel.hinted) {
    const text = await window.lineMatching(code, HINT);
    hints[code] = HINT.exec(text)[0];
    assert.ok(hints[code].length <= LONGEST_HINT && !text.includes("…"), `not cut: ${text}`);
  }
  for (const code of kernel.plain) {
    assert.doesNotMatch(await window.line(code), HINT);
  }
  return { lens, hints };
}

async function explains(window, kernel) {
  const hover = await window.hover(kernel.operation, kernel.word);
  for (const expected of [TIME, String.raw`\d+% of ${kernel.name}| overlapped`, "FLOP", "executions", "h100-sxm"]) {
    assert.match(hover, new RegExp(expected));
  }
  assert.ok(hover.includes(kernel.operationFlop), `${kernel.operationFlop} in ${hover}`);
  return hover;
}

/** The lens as one text. */
async function lensText(window, pattern) {
  return (await window.lenses(pattern)).join(" ");
}

function scenariosOfTrusted(window) {
  const { tvm, tilelang } = given;
  return {
    "tvm: lens and hints": () => sees(window, tvm),
    "tvm: hover": () => explains(window, tvm),
    "status item names the device": () => window.status(/^\s*TIRLens: h100-sxm$/),
    "a picker that is open learns which device is in use": async () => {
      await window.openFile(given.slow.file);
      await window.command("TIRLens: Choose Device");
      const [before] = await window.choices(/h100-sxm/);
      const rows = await window.choices(/in use/);
      assert.doesNotMatch(before, /in use/, "its analysis is under way");
      assert.match(rows[0], /^h100-sxm[^]*in use/);
      await window.page.keyboard.press("Escape");
      return { before, after: rows[0] };
    },
    "tilelang: lens and hints": async () => {
      await window.openFile(tilelang.file);
      return sees(window, tilelang);
    },
    "tilelang: hover": () => explains(window, tilelang),
    "report opens": async () => {
      await window.clickLens(/^[\d.]+ [num]?s/);
      const frame = await window.webview(new RegExp(tilelang.name));
      const drawn = await frame.locator("svg, img").count();
      assert.ok(drawn >= 1, "the roofline is drawn");
      const policy = await frame.locator("meta[http-equiv=Content-Security-Policy]").getAttribute("content");
      assert.ok(policy.startsWith("default-src 'none'"), policy);
      return (await frame.locator("body").innerText()).slice(0, 400);
    },
    "report leads to the line": async () => {
      const frame = await window.webview(new RegExp(tilelang.name));
      const link = frame.locator("[data-line]").first();
      const line = await link.getAttribute("data-line");
      const place = window.page.locator('[id="status.editor.selection"]');
      await link.click();
      return until(`cursor on line ${line}`, 10 * SECONDS, async () => {
        const text = await place.innerText();
        return text.includes(`Ln ${line},`) ? text : undefined;
      });
    },
    "report compares with another device": async () => {
      const frame = await window.webview(new RegExp(tilelang.name));
      await frame.getByLabel("Compare with").selectOption("a100-80-sxm");
      const card = frame.locator(".comparison");
      await card.getByText(/faster/).waitFor();
      const changes = await frame.locator("table.lines td.good").count();
      assert.ok(changes >= 3, `${changes} lines with their change`);
      const text = await card.innerText();
      await frame.getByLabel("Compare with").selectOption("");
      await card.waitFor({ state: "detached" });
      return text;
    },
    "report applies an advice": async () => {
      const frame = await window.webview(new RegExp(tilelang.name));
      await frame.getByRole("button", { name: /^Apply: .*threads=256/ }).click();
      const after = await window.lineMatching(tilelang.launch, /threads=256/);
      await frame.getByText(/changed since/).waitFor();
      await window.page.keyboard.press("Control+Z");
      await window.lineMatching(tilelang.launch, /threads=128/);
      await frame.getByText(/changed since/).waitFor({ state: "detached" });
      return after;
    },
    "report follows the editor": async () => {
      await window.openFile(tvm.file);
      const frame = await window.webview(new RegExp(tvm.name));
      const tabs = (await window.page.locator(".tab").allInnerTexts()).join(" ");
      assert.match(tabs.replaceAll("\n", ""), new RegExp(`TIRLens: ${escaped(tvm.file.split("/").at(-1))}`));
      const fits = await frame.evaluate(
        () => document.documentElement.scrollWidth <= document.documentElement.clientWidth,
      );
      assert.ok(fits, "no horizontal scrolling in half of a window");
      await window.openFile(tilelang.file);
      return tabs;
    },
    "generated code is linked to its lines": async () => {
      const code = () => window.page.locator(".monaco-editor .view-line").filter({ hasText: tilelang.operation }).first();
      await code().click();
      await window.command("TIRLens: Show Generated Code");
      await window.choices(/CUDA source/);
      await window.page.keyboard.press("Enter");
      const tab = window.page.locator(".tab").filter({ hasText: ".cu" });
      await tab.waitFor({ timeout: 120 * SECONDS });
      const linked = window.page.locator(".monaco-editor .view-line").filter({ hasText: "wgmma_" }).first();
      await linked.waitFor();
      const marked = await until("marked lines", 10 * SECONDS, async () => {
        const count = await window.page.locator(".monaco-editor [class*='TextEditorDecorationType']").count();
        return count > 1 ? count : undefined;
      });
      await linked.click();
      await window.command("View: Close Editor");
      await tab.waitFor({ state: "detached" });
      return { marked };
    },
    "choosing a device changes the labels": async () => {
      const before = await window.line(tilelang.operation);
      await window.clickLens(/h100-sxm/);
      await window.choose("a100-80-sxm");
      const lens = await lensText(window, /a100-80-sxm/);
      await window.status(/a100-80-sxm/);
      const after = await until("another hint", 20 * SECONDS, async () => {
        const text = await window.line(tilelang.operation);
        return HINT.test(text) && text !== before ? text : undefined;
      });
      await window.clickLens(/a100-80-sxm/);
      await window.choose("h100-sxm");
      await lensText(window, /h100-sxm/);
      await window.lineMatching(tilelang.operation, new RegExp(escaped(HINT.exec(before)[0])));
      return { lens, before, after };
    },
    "choosing a call writes the directive": async () => {
      await window.command("TIRLens: Choose the Kernel's Arguments");
      await window.choices(/Other arguments/);
      await window.choose("Other arguments");
      const box = window.page.locator(".quick-input-widget input").first();
      await box.fill(tilelang.otherCall);
      await window.page.keyboard.press("Enter");
      const lens = await lensText(window, new RegExp(escaped(tilelang.otherSize)));
      const line = await window.line("# tirlens:");
      assert.ok(line.endsWith(`# tirlens: ${tilelang.otherCall}`), line);
      return { lens, line };
    },
    "undo brings the numbers back": async () => {
      // A click fails where the editor is scrolled to the right; Home scrolls it back.
      await window.page.keyboard.press("Control+1");
      await window.page.keyboard.press("Home");
      await window.page.keyboard.press("Control+Z");
      await window.page.keyboard.press("Control+S");
      return lensText(window, new RegExp(escaped(tilelang.size)));
    },
    "advice is written by a code action": async () => {
      const before = await window.line(tilelang.launch);
      const actions = await window.codeActions(tilelang.launch);
      await window.chooseAction(/threads=256, saves about/);
      const after = await window.lineMatching(tilelang.launch, /threads=256/);
      await window.page.keyboard.press("Control+S");
      await lensText(window, /\(-\d+%\)/);
      await window.page.keyboard.press("Control+Z");
      await window.page.keyboard.press("Control+S");
      await window.lineMatching(tilelang.launch, /threads=128/);
      await lensText(window, new RegExp(escaped(tilelang.size)));
      return { before, after, actions };
    },
    "a lens asks about its own kernel": async () => {
      await window.clickLens(new RegExp(escaped(tilelang.secondSize)));
      const choices = await window.choices(/Other arguments/);
      const title = await window.page.locator(".quick-input-title").first().innerText();
      assert.ok(title.includes(`arguments of ${tilelang.second}`), title);
      assert.ok(choices.some((choice) => choice.startsWith(`${tilelang.second}(`)), choices.join());
      await window.page.keyboard.press("Escape");
      return { title, choices };
    },
    "debug information is copied": async () => {
      await window.command("TIRLens: Copy Debug Information");
      await window.page.getByText("debug information copied").first().waitFor();
      const copied = JSON.parse(await window.page.evaluate(() => navigator.clipboard.readText()));
      assert.equal(copied.condition.kind, "running");
      assert.ok(copied.server, "the server's part");
      return copied;
    },
    "restart keeps everything": async () => {
      await window.command("TIRLens: Restart Server");
      await window.status(/h100-sxm/);
      return sees(window, tilelang);
    },
    "a broken file has a squiggle and a problem": async () => {
      await window.openFile(given.broken.file);
      const count = await window.squiggle(given.broken.severity);
      const problems = await window.problems(new RegExp(given.broken.message));
      return { count, problems };
    },
    "devices are listed by use, then by vendor and speed": async () => {
      await window.command("View: Hide Panel");
      await window.openFile(tvm.file);
      await window.command("TIRLens: Choose Device");
      const rows = await window.choices(/in use/);
      await window.screenshot(join(given.screenshots, "devices.png"));
      await window.page.keyboard.press("Escape");
      assert.match(rows[0], /h100-sxm[^]*in use[^]*132 SMs, 3.35 TB\/s DRAM, 989 TFLOP\/s/);
      assert.match(rows[1], /^a100-80-sxm/, "chosen before");
      const [fast, slow] = ["gb200", "h200"].map((id) => rows.findIndex((row) => row.startsWith(id)));
      assert.ok(1 < fast && fast < slow, rows.join(" | "));
      return rows;
    },
    "a second device stands beside the first in the report": async () => {
      await window.command("TIRLens: Compare with Another Device");
      await window.choose("l40s");
      const frame = await window.webview(/l40s/);
      return (await frame.locator("body").innerText()).slice(0, 400);
    },
    "the sample kernel is analysed before it is saved": async () => {
      await window.command("TIRLens: Open Sample Kernel");
      await window.page.locator(".tab.active").filter({ hasText: "gemm_tilelang.py" }).waitFor();
      const lens = await lensText(window, /h100-sxm/);
      await window.lineMatching("T.gemm(", HINT);
      return lens;
    },
    "a notebook's cell says that it is not analysed": async () => {
      await window.openFile(given.notebook.file);
      await window.page.locator(".notebook-editor .view-line").filter({ hasText: given.notebook.code }).click();
      return window.status(/not analysed/);
    },
    "the walkthrough has its three steps": async () => {
      await window.command("Welcome: Open Walkthrough...");
      await window.choose("The cost of each line of a kernel");
      const steps = window.page.locator(".getting-started-step");
      await steps.nth(2).waitFor();
      const text = await window.page.locator(".gettingStartedContainer").innerText();
      for (const step of ["Open a kernel", "Choose the device", "See what to change"]) {
        assert.ok(text.includes(step), `${step} in ${text}`);
      }
      return text;
    },
  };
}

function scenariosOfUntrusted(window) {
  const { tilelang } = given;
  return {
    "untrusted: nothing is run": async () => {
      const lens = await lensText(window, /untrusted/);
      await window.status(/untrusted/);
      assert.doesNotMatch(await window.line(tilelang.operation), HINT);
      await assert.rejects(access(given.marker), "the file has not been run");
      return lens;
    },
    "untrusted: granting trust starts the analysis": async () => {
      await window.page.evaluate(() => (window.notReloaded = true));
      await window.trust();
      const seen = await sees(window, tilelang);
      assert.ok(await window.page.evaluate(() => window.notReloaded), "no reload");
      await access(given.marker);
      await window.status(/^\s*TIRLens: h100-sxm$/);
      return seen;
    },
    "the framework is missing: what to install": async () => {
      await window.openFile(given.alone.file);
      await window.status(/no tvm or tilelang/);
      const notice = window.page.locator(".notifications-toasts").getByText(given.alone.message);
      await notice.first().waitFor({ timeout: 10 * SECONDS });
      const text = await notice.first().innerText();
      assert.match(text, /-m pip install "tilelang/);
      await window.command("Notifications: Clear All Notifications");
      return text;
    },
  };
}

function scenariosOfMissing(window) {
  return {
    "missing: what to do is said, and again by Restart": async () => {
      await window.status(/no Python/);
      const notice = window.page.locator(".notifications-toasts").getByText("TIRLens needs Python 3.10");
      await notice.first().waitFor({ timeout: 10 * SECONDS });
      const text = await notice.first().innerText();
      assert.match(text, /Python 3\.8, the server needs 3\.10 or newer/);
      await window.page.locator(".notifications-toasts").getByRole("button", { name: "Restart" }).click();
      await notice.first().waitFor({ timeout: 10 * SECONDS });
      return text;
    },
  };
}

const WINDOWS = {
  trusted: scenariosOfTrusted,
  untrusted: scenariosOfUntrusted,
  missing: scenariosOfMissing,
};

function escaped(text) {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

await withBrowser(given, async (open) => {
  const window = await open(given.address, given.folder, given.file);
  let number = 0;
  for (const [name, scenario] of Object.entries(WINDOWS[given.window](window))) {
    const started = Date.now();
    let outcome;
    window.page.setDefaultTimeout(15 * SECONDS);
    try {
      outcome = { ok: true, seen: await scenario() };
    } catch (error) {
      outcome = { ok: false, seen: String(error.stack ?? error) };
    }
    number += 1;
    const picture = `${given.window}-${String(number).padStart(2, "0")}.png`;
    await window.screenshot(join(given.screenshots, picture));
    const seconds = (Date.now() - started) / SECONDS;
    console.log(JSON.stringify({ name, picture, seconds, ...outcome }));
    // Whatever a failed scenario left open must not fail the next one.
    await window.page.keyboard.press("Escape");
  }
  await writeFile(join(given.screenshots, `${given.window}.done`), "");
});
