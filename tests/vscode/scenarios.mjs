// What a user does in VS Code and must see. Run by test_vscode.py with one JSON argument;
// prints one JSON line for each scenario: its name, whether it held, and what was seen.

import assert from "node:assert/strict";
import { access, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { LIMIT, SECONDS, until, withBrowser } from "./window.mjs";

const given = JSON.parse(process.argv[2]);

const TIME = String.raw`\d[\d.]* [num]?s`;
/** Such as `about 2.6 ms (1.4 to 4.8)`. */
const ESTIMATE = String.raw`(about )?${TIME}( \(.+?\))?`;
/** Such as `about 2.6 ms (1.4 to 4.8) | waits for loads of A, B: 3 stages save 0.5 ms |`. */
const VERDICT = new RegExp(String.raw`^${ESTIMATE} \| (\w+ \d+% busy|waits for|.+ of peak)`);
/** Such as `81 us 93% | 137 GFLOP | 1.2 GB`, or `81 us overlapped | 137 GFLOP` beside slower work. */
const HINT = new RegExp(String.raw`${TIME} (<?\d[\d.]*%|overlapped)( \| \d[\d.]* [kMGT]?FLOP)?( \| \d[\d.]* [kMGT]?B)?$`);
/** The longest text of the hints of one line before VS Code cuts it. */
const LONGEST_HINT = 43;
/** A window in which so many scenarios fail, each after its limit, is given up. */
const MOST_FAILED = 4;

/** The names of VS Code's themes, and the class that a panel has in each. */
const THEMES = [
  ["Dark Modern", "vscode-dark"],
  ["Dark High Contrast", "vscode-high-contrast"],
  ["Light High Contrast", "vscode-high-contrast-light"],
  ["Light Modern", "vscode-light"],
];

async function sees(window, kernel) {
  const lens = (await window.lenses(VERDICT)).find((text) => VERDICT.test(text));
  assert.ok(lens.includes(kernel.operationFlop), `${kernel.operationFlop} in ${lens}`);
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
  const expected = [TIME, String.raw`\d+% of ${kernel.name}| overlapped`, "FLOP", "executions", "h100-sxm"];
  const patterns = [...expected, escaped(kernel.operationFlop)].map((pattern) => new RegExp(pattern));
  return window.hover(kernel.operation, kernel.word, ...patterns);
}

/** The lens as one text. */
async function lensText(window, pattern) {
  return (await window.lenses(pattern)).join(" ");
}

/** The code actions, which stay on show, once an edit with `part` is among them: edits are tried first. */
async function offeredEdits(window, code, part) {
  await window.page.locator(".monaco-editor .view-line").filter({ hasText: code }).first().click();
  return until(`an edit with ${part}`, async () => {
    const actions = await window.actionsAtCursor();
    if (actions.some((action) => action.includes(part))) {
      return actions;
    }
    await window.page.keyboard.press("Escape");
    return undefined;
  });
}

/** What a user sees of generated code. */
function generatedCode(window, operation) {
  const lines = window.page.locator(".monaco-editor .view-line");
  const line = (text) => lines.filter({ hasText: text }).first();
  const tab = (extension) => window.page.locator(".tab").filter({ hasText: extension });
  return {
    line,
    tab,
    async show() {
      await line(operation).click();
      await window.command("TIRLens: Show Generated Code");
      await window.choices(/CUDA source and machine code/);
      await window.page.keyboard.press("Enter");
      await tab(".cu").waitFor();
    },
    /** The lines on show in a column that are marked, once one of them matches and no other line is a product. */
    marked: (column, pattern) =>
      until(`a mark at ${pattern}`, async () => {
        const group = window.page.locator(".editor-group-container").nth(column);
        const texts = await group.evaluate((element) => {
          const top = (one) => Math.round(one.getBoundingClientRect().top);
          const marks = [...element.querySelectorAll("[class*='TextEditorDecorationType']")].map(top);
          return [...element.querySelectorAll(".view-line")].filter((one) => marks.includes(top(one))).map((one) => one.innerText);
        });
        const isOfProduct = texts.some((text) => /gemm\(|wgmma/.test(text));
        return texts.some((text) => pattern.test(text)) && !isOfProduct ? texts : undefined;
      }),
    marks: () =>
      until("marked lines", async () => {
        const count = await window.page.locator(".monaco-editor [class*='TextEditorDecorationType']").count();
        return count > 1 ? count : undefined;
      }),
  };
}

function scenariosOfTrusted(window) {
  const { tvm, tilelang } = given;
  const generated = generatedCode(window, tilelang.operation);
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
      await window.clickLens(new RegExp(`^${ESTIMATE}`));
      const frame = await window.webview(new RegExp(tilelang.name));
      const drawn = await frame.locator("svg, img").count();
      assert.ok(drawn >= 1, "the roofline is drawn");
      const policy = await frame.locator("meta[http-equiv=Content-Security-Policy]").getAttribute("content");
      assert.ok(policy.startsWith("default-src 'none'"), policy);
      return (await frame.locator("body").innerText()).slice(0, 400);
    },
    "report has what a baseline adds later": async () => {
      const frame = await window.webview(new RegExp(tilelang.name));
      const options = frame.locator("option").filter({ hasText: "the baseline: pinned" });
      const become = (count) =>
        until(`${count} baselines in the report`, async () =>
          (await options.count()) === count ? true : undefined,
        );
      await window.page.locator(".monaco-editor .view-line").filter({ hasText: tilelang.launch }).first().click();
      await window.command("TIRLens: Pin Baseline");
      await window.choose("The saved file");
      await become(1);
      const name = await options.first().innerText();
      await window.command("TIRLens: Clear Baseline");
      await become(0);
      return name;
    },
    "report leads to the line": async () => {
      const frame = await window.webview(new RegExp(tilelang.name));
      const link = frame.locator("[data-line]").first();
      const line = await link.getAttribute("data-line");
      const place = window.page.locator('[id="status.editor.selection"]');
      await link.click();
      return until(`cursor on line ${line}`, async () => {
        const text = await place.innerText();
        return text.includes(`Ln ${line},`) ? text : undefined;
      });
    },
    "report leaves the cursor in the text when its own focus comes late": async () => {
      const frame = await window.webview(new RegExp(tilelang.name));
      const { page } = window;
      const link = frame.locator("[data-line]").first();
      const line = await link.getAttribute("data-line");
      await page.locator(".monaco-editor .view-line").filter({ hasText: tilelang.launch }).first().click();
      await until("the cursor elsewhere in the text", async () => {
        const place = await page.locator('[id="status.editor.selection"]').innerText({ timeout: SECONDS });
        return place.includes(`Ln ${line},`) ? undefined : place;
      });
      // What VS Code finds in a slow window: the panel has the focus after the text has got it.
      await page.evaluate((wanted) => {
        const timer = setInterval(() => {
          if (document.querySelector("[id='status.editor.selection']")?.textContent?.includes(`Ln ${wanted},`)) {
            clearInterval(timer);
            setTimeout(() => {
              window.focusedLate = true;
              document.querySelector("iframe.webview").focus();
            }, 100);
          }
        }, 10);
      }, line);
      await link.click();
      await page.waitForFunction(() => window.focusedLate === true);
      return until("the keyboard in the text", async () => {
        await page.waitForTimeout(SECONDS);
        const typed = await page.evaluate(() => document.activeElement?.closest(".monaco-editor") !== null);
        const place = await page.locator('[id="status.editor.selection"]').innerText({ timeout: SECONDS });
        return typed && place.includes(`Ln ${line},`) ? place : undefined;
      });
    },
    "report leads to the beginning of a line": async () => {
      const frame = await window.webview(new RegExp(tilelang.name));
      const { page } = window;
      const left = () =>
        page.evaluate(() => {
          const editor = document.querySelector(".monaco-editor");
          const text = editor.querySelector(".view-line").getBoundingClientRect().x;
          return Math.round(text - editor.querySelector(".margin").getBoundingClientRect().right);
        });
      const text = await readFile(join(given.folder, tilelang.file), "utf8");
      const long = text.split("\n").findIndex((line) => line.includes(tilelang.launch)) + 1;
      // Playwright scrolls elements to the right that VS Code does not scroll, and leaves them so.
      await page.evaluate(() => {
        for (let part = document.querySelector(".monaco-editor .view-line"); part; part = part.parentElement) {
          part.scrollLeft = 0;
        }
      });
      const start = await left();
      assert.ok(start >= 0, `scrolled at the start: ${start}`);
      const jump = async (width, click) => {
        await page.setViewportSize({ width, height: 800 });
        await page.keyboard.press("Control+1");
        await window.pick("Control+G", `:${long}:200`, `[aria-label*="${long}"]`);
        const scrolled = await until("an editor that is scrolled", async () => {
          const at = await left();
          return at < start - 20 ? at : undefined;
        });
        await click();
        await until("the beginning of the line", async () => ((await left()) === start ? true : undefined));
        return scrolled;
      };
      const size = page.viewportSize();
      await window.command("View: Toggle Primary Side Bar Visibility");
      try {
        const narrow = await jump(800, () => frame.locator("[data-line]").first().click());
        const apply = frame.getByRole("button", { name: /^Apply: .*num_stages=3/ });
        const wide = await jump(1400, () => apply.click());
        await window.notice(/Ln \d+, Col [2-9]\d/);
        await page.keyboard.press("Control+Z");
        await window.lineMatching(tilelang.pipelined, /num_stages=2/);
        await frame.getByText(/changed since/).waitFor({ state: "detached" });
        return { start, narrow, wide };
      } finally {
        await page.setViewportSize(size);
        await window.command("View: Toggle Primary Side Bar Visibility");
      }
    },
    "report compares with another device": async () => {
      const frame = await window.webview(new RegExp(tilelang.name));
      await frame.locator("table.lines .twisty:not(.none)").nth(1).click();
      const rows = () => frame.locator("table.lines tbody tr:visible").count();
      const folded = await rows();
      await frame.getByLabel("Compare with").focus();
      // Playwright's own choice would scroll to the picker.
      const scroll = await frame.getByLabel("Compare with").evaluate((select) => {
        window.scrollTo(0, 120);
        select.value = "a100-80-sxm";
        select.dispatchEvent(new Event("change"));
        return window.scrollY;
      });
      const card = frame.locator(".comparison");
      await card.getByText(/faster/).waitFor();
      const kept = () => frame.evaluate(() => [window.scrollY, document.activeElement?.closest("label")?.textContent ?? ""]);
      const [scrolled, focused] = await kept();
      assert.deepEqual([scrolled, await rows()], [scroll, folded], "the scroll position and the folded rows");
      assert.match(focused, /^Compare with/, "the focus");
      const changes = await frame.locator("table.lines td.good").count();
      assert.ok(changes >= 3, `${changes} lines with their change`);
      const text = await card.innerText();
      await frame.getByLabel("Compare with").selectOption("");
      await card.waitFor({ state: "detached" });
      return text;
    },
    "report applies an advice": async () => {
      const frame = await window.webview(new RegExp(tilelang.name));
      await frame.getByRole("button", { name: /^Apply: .*num_stages=3/ }).click();
      const after = await window.lineMatching(tilelang.pipelined, /num_stages=3/);
      await frame.getByText(/changed since/).waitFor();
      await window.page.keyboard.press("Control+Z");
      await window.lineMatching(tilelang.pipelined, /num_stages=2/);
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
      const scroll = await frame.evaluate(() => window.scrollY);
      assert.equal(scroll, 0, "another file from its beginning");
      await window.openFile(tilelang.file);
      // The name of its kernel is part of the other's.
      const name = tilelang.file.split("/").at(-1);
      await until(`report of ${name}`, async () => (await frame.title()).includes(name) || undefined);
      const twisties = await frame.locator("table.lines .twisty:not(.none)").allInnerTexts();
      assert.equal(twisties[1], "▸", `folded as it was left: ${twisties.join("")}`);
      await frame.locator("table.lines .twisty:not(.none)").nth(1).click();
      // Files are opened where the focus is.
      await window.page.keyboard.press("Control+1");
      return tabs;
    },
    "generated code is linked to its lines": async () => {
      await generated.show();
      const linked = generated.line("wgmma_");
      await linked.waitFor();
      const marked = await generated.marks();
      return { marked };
    },
    "what machine code needs is offered": async () => {
      const [lens] = (await window.lenses(/Install NVIDIA's compiler/)).filter((text) => text.includes("NVIDIA"));
      const why = await generated.line("machine code:").innerText();
      assert.match(why.replaceAll("\u00a0", " "), /no machine code: .*nvdisasm not found/);
      await window.page.locator('[id="tirlens.tirlens.status"]').click();
      const choices = await window.choices(/Install NVIDIA's compiler \(350 MB\)/);
      await window.page.keyboard.press("Escape");
      return { lens, why, choices };
    },
    "machine code is linked to both sources": async () => {
      await mkdir(dirname(given.toolchain), { recursive: true });
      await symlink(given.tools, given.toolchain);
      await generated.show();
      // The line of the product is selected: its instructions are shown, with their stalls, and not
      // the table above them.
      await generated.line(/^\[B[-\d]{6}:R[-\d]:W[-\d]:[-Y]:S\d\d\].*WARPGROUP\.ARRIVE/).waitFor();
      const marked = await generated.marks();
      const instructions = /Machine code \(sm_90\): HGMMA\.64x\d+x16\.F32 x\d+/;
      const hover = await window.hover(tilelang.operation, tilelang.word, instructions);
      // And back: an instruction that copies is of another line.
      const other = generated.line("UTMALDG.2D x");
      await window.page.keyboard.press("Control+3");
      await window.page.keyboard.press("Control+Home");
      const summary = (await other.innerText()).replaceAll("\u00a0", " ");
      await other.click();
      const [source, cuda] = [await generated.marked(0, /T\.copy\(/), await generated.marked(1, /tma_load/)];
      await window.command("View: Close Editor");
      await generated.tab(".nvsass").waitFor({ state: "detached" });
      await generated.tab(".cu").first().click();
      await window.command("View: Close Editor");
      await generated.tab(".cu").waitFor({ state: "detached" });
      return { marked, hover: hover.slice(-200), summary, source, cuda };
    },
    "choosing a device changes the labels": async () => {
      const before = await window.line(tilelang.operation);
      await window.clickLens(/h100-sxm/);
      await window.choose("a100-80-sxm");
      const lens = await lensText(window, /a100-80-sxm/);
      await window.status(/a100-80-sxm/);
      const after = await until("another hint", async () => {
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
      // The list has no message below its field; the box for a call has.
      await window.page.locator(".quick-input-message").getByText("A call of the kernel").first().waitFor();
      const box = window.page.locator(".quick-input-widget input").first();
      await box.fill(tilelang.otherCall);
      await window.page.keyboard.press("Enter");
      const lens = await lensText(window, new RegExp(escaped(tilelang.otherFlop)));
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
      return lensText(window, new RegExp(escaped(tilelang.operationFlop)));
    },
    "advice is written by a code action": async () => {
      const before = await window.line(tilelang.pipelined);
      const actions = await offeredEdits(window, tilelang.pipelined, "num_stages=3");
      await window.chooseAction(/num_stages=3, saves about/);
      const after = await window.lineMatching(tilelang.pipelined, /num_stages=3/);
      await window.page.keyboard.press("Control+S");
      await lensText(window, /-\d+%\)/);
      await window.page.keyboard.press("Control+Z");
      await window.page.keyboard.press("Control+S");
      await window.lineMatching(tilelang.pipelined, /num_stages=2/);
      await lensText(window, new RegExp(escaped(tilelang.operationFlop)));
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
    "a kernel with fixed shapes leads to them": async () => {
      await window.openFile(tvm.file);
      await window.lenses(/h100-sxm/);
      await window.page.locator(".monaco-editor .view-line").filter({ hasText: `def ${tvm.name}` }).first().click();
      await window.clickLens(new RegExp(escaped(tvm.size)));
      const [choice, ...others] = await window.choices(/fixed by the source/);
      assert.deepEqual(others, []);
      await window.page.keyboard.press("Enter");
      const line = /line (\d+)/.exec(choice)[1];
      await window.notice(new RegExp(`Ln ${line}, Col 1\\b`));
      await window.openFile(tilelang.file);
      await window.lenses(/h100-sxm/);
      return choice;
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
    "a baseline stands beside the last save": async () => {
      await window.closeTab("TIRLens: ");
      await window.command("TIRLens: Pin Baseline");
      await window.choose("The saved file");
      const pinned = await window.notice(/compared with pinned [-\d]+ [:\d]+/);
      await offeredEdits(window, tilelang.pipelined, "num_stages=3");
      await window.page.keyboard.press("Escape");
      // Times are compared where both are of the lowered kernel, or both of the source.
      await window.settledLenses(VERDICT);
      await window.actionsAtCursor();
      await window.chooseAction(/num_stages=3, saves about/);
      await window.lineMatching(tilelang.pipelined, /num_stages=3/);
      await window.page.keyboard.press("Control+S");
      const lens = await lensText(window, /-\d+%, baseline -\d+%\)/);
      await window.command("TIRLens: Clear Baseline");
      await lensText(window, /-\d+%\)/);
      await window.page.keyboard.press("Control+Z");
      await window.page.keyboard.press("Control+S");
      await window.lineMatching(tilelang.pipelined, /num_stages=2/);
      await lensText(window, /\+\d+%\)/);
      return { pinned, lens };
    },
    "what is displayed is one toggle": async () => {
      const hinted = () => window.hintedLines(HINT);
      const lenses = () => window.page.locator(".codelens-decoration a").count();
      const toggled = async (notice) => {
        await window.command("TIRLens: Display More or Less");
        await window.notice(notice);
      };
      const becomes = (what, ask) => until(what, async () => ((await ask()) ? true : undefined));
      const all = await hinted();
      assert.ok(all.length > 3 && (await lenses()) > 0, `${all.length} hints`);
      await toggled(/hints of the hottest lines only/);
      await becomes("fewer hints", async () => (await hinted()).length < all.length);
      const hottest = await hinted();
      assert.ok(hottest.length > 0 && (await lenses()) > 0, `${hottest.length} hints`);
      assert.ok(hottest.every((line) => all.includes(line)), "the same hints");
      assert.ok(hottest.some((line) => line.includes(tilelang.operation)), "of the hottest line");
      await toggled(/kernels marked by # tirlens: on/);
      await becomes("nothing is marked", async () => (await lenses()) === 0 && (await hinted()).length === 0);
      await toggled(/no lenses and no hints/);
      await becomes("nothing is displayed", async () => (await lenses()) === 0 && (await hinted()).length === 0);
      await toggled(/lenses and hints of all kernels/);
      await becomes("all is displayed", async () => (await hinted()).length === all.length && (await lenses()) > 0);
      return { all, hottest };
    },
    "the hottest line is gone to": async () => {
      const text = await readFile(join(given.folder, tilelang.file), "utf8");
      const line = text.split("\n").findIndex((one) => one.includes(tilelang.operation)) + 1;
      await window.page.locator(".monaco-editor .view-line").filter({ hasText: tilelang.launch }).first().click();
      const place = window.page.locator('[id="status.editor.selection"]');
      assert.ok(!(await place.innerText()).includes(`Ln ${line},`), "elsewhere before");
      await window.command("TIRLens: Go to Hottest Line");
      const notice = await window.notice(new RegExp(`\\d+% of ${tilelang.name}`));
      await window.notice(new RegExp(`Ln ${line},`));
      return { line, notice };
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
      await window.page.locator('.tab.active.dirty[aria-label^="gemm_tilelang.py"]').waitFor();
      const lens = await lensText(window, /h100-sxm/);
      await window.lineMatching("T.gemm(", HINT);
      return lens;
    },
    "a file without a name is analysed": async () => {
      await window.closeTab("TIRLens: ");
      const text = await readFile(join(given.folder, tilelang.file), "utf8");
      await window.command("File: New Untitled Text File");
      await window.page.locator(".tab.active").filter({ hasText: "Untitled" }).waitFor();
      await window.paste(text);
      await window.command("Change Language Mode");
      await window.choose("Python");
      // Until it is closed it has the keyboard.
      await window.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
      await window.page.keyboard.press("Control+1");
      await window.page.keyboard.press("Control+Home");
      const { lens } = await sees(window, tilelang);
      await window.command("TIRLens: Show Report");
      const frame = await window.webview(/Untitled-\d+[^]*batched_matmul/);
      const drawn = await frame.locator("svg.chart").count();
      await window.closeTab("TIRLens: Untitled");
      return { lens, drawn };
    },
    "a virtual document says that it is not analysed": async () => {
      await window.openFile(tvm.file);
      await window.status(/h100-sxm/);
      await window.page.evaluate(() => navigator.clipboard.writeText("from tvm.script import tirx as T\n"));
      await window.command("File: Compare Active File with Clipboard");
      await window.page.locator(".monaco-diff-editor .original .view-line").filter({ hasText: "tvm.script" }).first().click();
      const said = await window.status(/not analysed/);
      const item = window.page.locator('[id="tirlens.tirlens.status"]');
      await item.hover();
      const why = window.page.locator(".monaco-hover").getByText(/Save a copy/);
      await why.first().waitFor();
      const text = await why.first().innerText();
      await window.command("View: Close Editor");
      await window.status(/h100-sxm/);
      return { said, text };
    },
    "a notebook's cells are analysed as one text": async () => {
      const { notebook } = given;
      await window.openFile(notebook.file);
      const cell = (code) => window.page.locator(".notebook-editor .view-line").filter({ hasText: code }).first();
      await cell(notebook.code).click();
      await window.status(/^\s*TIRLens: h100-sxm$/);
      const lens = await lensText(window, new RegExp(escaped(notebook.size)));
      const hint = await window.lineMatching(notebook.operation, HINT);
      assert.doesNotMatch(await window.line(notebook.code), HINT);
      const hover = await window.hover(notebook.operation, "gemm", /% of matmul| overlapped/);
      // The call of another cell, saved, gives another time.
      await cell(notebook.call).click();
      await window.page.keyboard.press("Control+A");
      await window.page.keyboard.type(notebook.otherCall);
      await window.page.keyboard.press("Control+S");
      const after = await lensText(window, new RegExp(escaped(notebook.otherSize)));
      const changed = await window.lineMatching(notebook.operation, HINT);
      assert.notEqual(changed, hint);
      await window.screenshot(join(given.screenshots, "notebook.png"));
      await window.command("TIRLens: Go to Hottest Line");
      const at = await window.notice(/\d+% of matmul/);
      await window.command("TIRLens: Show Report");
      const frame = await window.webview(/matmul[^]*1024x2048x2048/);
      await cell(notebook.code).click();
      await window.notice(/Cell 2 of 4/);
      // The kernel's own line, which any report of it has: below three lines of the cell above.
      const { cells } = JSON.parse(await readFile(join(given.folder, notebook.file), "utf8"));
      const own = [cells[2].source].flat().join("").split("\n").findIndex((line) => line.startsWith("def matmul"));
      const link = frame.locator(`[data-line='${3 + own + 1}']`).first();
      assert.equal(await link.innerText(), `cell 3, line ${own + 1}`);
      await link.click();
      await window.notice(/Cell 3 of 4/);
      await until("the cursor on its line", async () => {
        const marked = window.page.locator(".notebook-editor .monaco-editor.focused .view-overlays > div");
        const at = await marked.evaluateAll((all) => all.findIndex((one) => one.querySelector(".current-line")));
        return at === own ? at : undefined;
      });
      await window.closeTab("TIRLens: ");
      return { lens, hint, after, changed, at };
    },
    "the report is readable in every theme": async () => {
      const axe = await readFile(given.axe, "utf8");
      const size = window.page.viewportSize();
      await window.page.setViewportSize({ width: 1600, height: 3000 });
      await window.openFile(tilelang.file);
      await window.command("TIRLens: Show Report");
      const frame = await window.webview(new RegExp(tilelang.second));
      await frame.evaluate(axe);
      const found = {};
      for (const [theme, kind] of THEMES) {
        await window.command("Preferences: Color Theme");
        await window.choose(theme);
        await frame.locator(`body.${kind}`).waitFor();
        await window.page.waitForTimeout(SECONDS / 2);
        await window.screenshot(join(given.screenshots, `report-${kind}.png`));
        const code = frame.locator("table.lines code").first();
        const background = await code.evaluate((element) => getComputedStyle(element).backgroundColor);
        assert.equal(background, "rgba(0, 0, 0, 0)", `code in ${theme}`);
        const { violations } = await frame.evaluate(() => globalThis.axe.run());
        found[theme] = violations
          .filter(({ impact }) => impact === "serious" || impact === "critical")
          .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).slice(0, 5).join(" ")}`);
      }
      await window.page.setViewportSize(size);
      assert.deepEqual(Object.values(found).flat(), []);
      return found;
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
      await window.status(/no tvm, tilelang or tvm_tirx/);
      const notice = window.page.locator(".notifications-toasts").getByText(given.alone.message);
      await notice.first().waitFor();
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
      await notice.first().waitFor();
      const text = await notice.first().innerText();
      assert.match(text, /Python 3\.8, the server needs 3\.10 or newer/);
      await window.page.locator(".notifications-toasts").getByRole("button", { name: "Restart" }).click();
      await notice.first().waitFor();
      return text;
    },
  };
}

function scenariosOfBeside(window) {
  const { tilelang, broken } = given;
  return {
    "beside others: each hint is there once and whole": async () => {
      // The others' hints are within lines: names of parameters.
      const other = await window.lineMatching(tilelang.operation, /A=A_shared/);
      const seen = await sees(window, tilelang);
      const lines = {};
      for (const [code, hint] of Object.entries(seen.hints)) {
        lines[code] = await window.line(code);
        assert.equal(lines[code].split(hint).length, 2, `once: ${lines[code]}`);
        assert.ok(lines[code].endsWith(hint), `at the end: ${lines[code]}`);
      }
      await window.screenshot(join(given.screenshots, "beside.png"));
      return { other, lines, ...seen };
    },
    "beside others: a hover has what each of them says": async () => {
      return window.hover(tilelang.operation, tilelang.word, /FLOP/, /\((function|method)\)|def gemm/);
    },
    "beside others: problems have their source": async () => {
      await window.openFile(broken.file);
      await window.squiggle(broken.severity);
      const problems = await window.problems(/tirlens/);
      for (const source of ["tirlens", "Ruff", "basedpyright"]) {
        assert.ok(problems.some((row) => row.includes(source)), `${source} in ${problems.join(" | ")}`);
      }
      const own = problems.filter((row) => row.includes("tirlens"));
      assert.equal(own.length, 1, "its one error");
      return problems;
    },
  };
}

function scenariosOfFolders(window) {
  const { tvm, tilelang } = given;
  const settingsOf = (name) => join(dirname(given.folder), name, ".vscode/settings.json");
  const change = async (name, settings) => {
    const before = JSON.parse(await readFile(settingsOf(name), "utf8"));
    await writeFile(settingsOf(name), JSON.stringify({ ...before, ...settings }, undefined, 2));
  };
  return {
    "folders: the first has its interpreter and its settings": async () => {
      await window.status(/^\s*TIRLens: a100-80-sxm$/);
      const lens = await lensText(window, new RegExp(`^${ESTIMATE} \\| ${escaped(tvm.size)} \\| a100-80-sxm$`));
      const hint = await window.lineMatching(tvm.hinted[0], HINT);
      const why = await window.statusTooltip(/Framework: tvm/);
      assert.match(why, /tvm-0\.27\.0[^]*the editor's environment/);
      return { lens, hint, why };
    },
    "folders: the second has its own": async () => {
      await window.openFile(basename(tilelang.file));
      await window.status(/^\s*TIRLens: h200$/);
      const lens = (await window.lenses(VERDICT)).join("\n");
      assert.ok(lens.includes(tilelang.size) && lens.includes("h200"), lens);
      assert.doesNotMatch(lens, /a100|h100/);
      const hints = await window.hintedLines(HINT);
      const why = await window.statusTooltip(/Framework: tilelang/);
      assert.match(why, /tilelang\/tools\/bin\/python[^]*the setting/);
      return { lens, hints, why };
    },
    "folders: a device is chosen where it is set": async () => {
      await window.command("TIRLens: Choose Device");
      await window.choose("b200");
      await window.status(/^\s*TIRLens: b200$/);
      const written = await until("the folder's own setting", async () => {
        const { "tirlens.device": device } = JSON.parse(await readFile(settingsOf("tilelang"), "utf8"));
        return device === "b200" ? device : undefined;
      });
      await window.openFile(basename(tvm.file));
      await window.status(/^\s*TIRLens: a100-80-sxm$/);
      return written;
    },
    "folders: another interpreter of one folder": async () => {
      const other = join(dirname(given.folder), "tvm/other/bin/python");
      await change("tvm", { "python.defaultInterpreterPath": other });
      const why = await until("the other interpreter", async () => {
        const text = await window.statusTooltip(/Python: /);
        return text.includes(`${other} (the editor's environment)`) ? text : undefined;
      });
      await window.openFile(basename(tilelang.file));
      await window.status(/^\s*TIRLens: b200$/);
      return why;
    },
  };
}

const WINDOWS = {
  beside: scenariosOfBeside,
  folders: scenariosOfFolders,
  trusted: scenariosOfTrusted,
  untrusted: scenariosOfUntrusted,
  missing: scenariosOfMissing,
};

function escaped(text) {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

// Beside the report, too, the lenses have room for the sizes, which some of the scenarios click.
const viewport = given.window === "trusted" ? { width: 2200, height: 800 } : undefined;
await withBrowser({ ...given, viewport }, async (open) => {
  const window = await open(given.address, given.folder, given.file);
  let number = 0;
  let failed = 0;
  for (const [name, scenario] of Object.entries(WINDOWS[given.window](window))) {
    const started = Date.now();
    let outcome;
    window.page.setDefaultTimeout(LIMIT);
    if (failed >= MOST_FAILED) {
      console.log(JSON.stringify({ name, picture: "", seconds: 0, ok: false, seen: `not tried: ${failed} scenarios before it failed` }));
      continue;
    }
    try {
      outcome = { ok: true, seen: await scenario() };
    } catch (error) {
      outcome = { ok: false, seen: String(error.stack ?? error) };
      failed += 1;
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
