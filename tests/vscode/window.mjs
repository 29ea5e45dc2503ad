// A VS Code window in a headless browser: what a user sees and does in it, by name.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const BROWSER_FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--force-color-profile=srgb",
];

export const SECONDS = 1000;
/** How long to wait for what must come. It is no target: only a failed test lasts so long. */
export const LIMIT = 120 * SECONDS;
/** After so long an input has been lost: what took the focus meanwhile closes pickers and hovers. */
const LOST = 10 * SECONDS;

/**
 * Opens windows on one code-server; `run` gets an `open(folder, file)` and all is closed after.
 * The folder may be a `.code-workspace` file.
 */
export async function withBrowser({ playwright, chromium, viewport, scale }, run) {
  const { chromium: browserType } = await import(pathToFileURL(playwright).href);
  const profile = await mkdtemp(join(tmpdir(), "tirlens-chromium-"));
  const context = await browserType.launchPersistentContext(profile, {
    executablePath: chromium,
    headless: true,
    args: BROWSER_FLAGS,
    viewport: viewport ?? { width: 1400, height: 800 },
    deviceScaleFactor: scale ?? 1,
  });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  try {
    return await run(async (address, folder, file) => {
      const page = await context.newPage();
      const authority = new URL(address).host;
      const uri = `vscode-remote://${authority}${file.startsWith("/") ? file : `${folder}/${file}`}`;
      const payload = JSON.stringify([["openFile", uri]]);
      const place = folder.endsWith(".code-workspace") ? { workspace: folder } : { folder };
      const query = new URLSearchParams({ ...place, payload });
      await page.goto(`${address}/?${query}`);
      const window = new Window(page);
      await page.locator(".monaco-editor .view-lines").first().waitFor({ timeout: LIMIT });
      return window;
    });
  } finally {
    await context.close();
    await rm(profile, { recursive: true, force: true });
  }
}

export class Window {
  constructor(page) {
    this.page = page;
  }

  /** The texts of the lenses in the editor, waiting for one that matches. */
  async lenses(pattern) {
    const lens = this.page.locator(".codelens-decoration");
    // Read once and judged by what was read: an analysis may redraw the lenses at any moment.
    return until(`lens ${pattern}`, async () => {
      const texts = (await lens.allInnerTexts()).map((text) => plain(text).replaceAll("\n", ""));
      return texts.some((text) => pattern.test(text)) ? texts : undefined;
    });
  }

  /** Clicks the part of a lens that matches. */
  async clickLens(pattern) {
    await this.page.locator(".codelens-decoration a").filter({ hasText: pattern }).first().click();
  }

  /** The whole text of the visible line that contains `code`: the code, then its hints. */
  async line(code) {
    const lines = this.page.locator(".monaco-editor .view-line");
    return plain(await lines.filter({ hasText: code }).first().innerText());
  }

  /** The code of the visible lines that end in a hint. */
  async hintedLines(pattern) {
    const texts = await this.page.locator(".monaco-editor .view-line").allInnerTexts();
    return texts.map(plain).filter((text) => pattern.test(text)).map((text) => text.replace(pattern, ""));
  }

  /** Waits until the line that contains `code` has a text that matches, and returns that text. */
  async lineMatching(code, pattern) {
    return until(`line ${code} matching ${pattern}`, async () => {
      const text = await this.line(code);
      return pattern.test(text) ? text : undefined;
    });
  }

  /** Rests the pointer on `word` of the visible line that contains `code`; the hover's text. */
  async hover(code, word, ...patterns) {
    const hover = this.page.locator(".monaco-hover:not(.hidden) .hover-contents");
    return until(`hover of ${word}`, async () => {
      const box = await this.boxOf(code, word);
      await this.page.mouse.move(5, 5);
      await this.page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 4 });
      const ask = async () => {
        const text = plain((await hover.allInnerTexts()).join("\n"));
        const whole = text !== "" && !text.includes("Loading...");
        return whole && patterns.every((pattern) => pattern.test(text)) ? text : undefined;
      };
      return until(`a hover that has ${["no spinner", ...patterns].join(", ")}`, ask, LOST);
    });
  }

  /** Where `word` of a visible line is on the page. */
  async boxOf(code, word) {
    const line = this.page.locator(".monaco-editor .view-line").filter({ hasText: code }).first();
    return line.evaluate((element, wanted) => {
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const at = node.data.indexOf(wanted);
        if (at >= 0) {
          const range = document.createRange();
          range.setStart(node, at);
          range.setEnd(node, at + wanted.length);
          const { x, y, width, height } = range.getBoundingClientRect();
          return { x, y, width, height };
        }
      }
      throw new Error(`no ${wanted} in ${element.innerText}`);
    }, word);
  }

  /** The titles of the code actions at the visible line that contains `code`. */
  async codeActions(code) {
    const line = this.page.locator(".monaco-editor .view-line").filter({ hasText: code }).first();
    await line.click();
    return this.actionsAtCursor();
  }

  /** The same at the cursor, wherever the text is scrolled to. */
  async actionsAtCursor() {
    const rows = this.page.locator(".action-widget .monaco-list-row.action");
    return until("code actions", async () => {
      await this.page.keyboard.press("Control+.");
      await rows.first().waitFor({ timeout: LOST });
      return (await rows.allInnerTexts()).map(plain);
    });
  }

  /** Takes the code action on show that matches. */
  async chooseAction(pattern) {
    await this.page.locator(".action-widget .monaco-list-row.action").filter({ hasText: pattern }).first().click();
  }

  /** The status item's text once it matches. */
  async status(pattern) {
    const item = this.page.locator('[id="tirlens.tirlens.status"]');
    return until(`status ${pattern}`, async () => {
      const text = plain((await item.allInnerTexts()).join(" "));
      return pattern.test(text) ? text : undefined;
    });
  }

  /** What the status item says under the pointer, once it matches. */
  async statusTooltip(pattern) {
    const hover = this.page.locator(".monaco-hover:not(.hidden)");
    const text = await until(`tooltip ${pattern}`, async () => {
      await this.page.mouse.move(5, 5);
      await this.page.locator('[id="tirlens.tirlens.status"]').hover({ timeout: LOST });
      const ask = async () => {
        const texts = (await hover.allInnerTexts()).map(plain);
        return texts.find((one) => pattern.test(one));
      };
      return until("a tooltip that matches", ask, LOST);
    });
    await this.page.mouse.move(5, 5);
    return text;
  }

  /** Runs a command by its title, as a user finds it. */
  async command(title) {
    // Others have a longer title, "Close All Editors" for "Close Editor", or a key in their label.
    const [whole, start] = [title, `${title},`].map((text) => JSON.stringify(text));
    await this.pick("F1", `>${title}`, `[aria-label=${whole}], [aria-label^=${start}]`);
  }

  /** Opens a quick pick by `key`, types `text`, and clicks the first row that the selector matches. */
  async pick(key, text, selector) {
    const widget = this.page.locator(".quick-input-widget");
    const row = widget.locator(".quick-input-list .monaco-list-row").and(this.page.locator(selector));
    await until(`${text} to pick`, async () => {
      if (await widget.isVisible()) {
        // Its rows and its field are those of another question, or it had no such row.
        await this.page.keyboard.press("Escape");
        await widget.waitFor({ state: "hidden", timeout: LOST });
      }
      await this.page.keyboard.press(key);
      await widget.locator("input").first().fill(text, { timeout: LOST });
      // By what it is, not by its place in the list: the list changes while commands are searched.
      await row.first().click({ timeout: LOST });
      return true;
    });
  }

  /** The rows of the open quick pick. */
  async choices(pattern) {
    const rows = this.page.locator(".quick-input-list .monaco-list-row");
    await rows.filter({ hasText: pattern }).first().waitFor({ timeout: LIMIT });
    return (await rows.allInnerTexts()).map(plain);
  }

  /** Types into the open quick pick and takes the row that is marked then. */
  async choose(text) {
    await this.page.locator(".quick-input-widget input").first().fill(text, { timeout: LIMIT });
    const marked = this.page.locator(".quick-input-list .monaco-list-row.focused");
    await marked.filter({ hasText: text }).first().waitFor({ timeout: LIMIT });
    await this.page.keyboard.press("Enter");
  }

  /** The frame of the open webview whose text matches. */
  async webview(pattern) {
    return until(`webview ${pattern}`, async () => {
      for (const frame of this.page.frames()) {
        const text = await frame.locator("body").innerText({ timeout: 1000 }).catch(() => "");
        if (frame !== this.page.mainFrame() && pattern.test(text)) {
          return frame;
        }
      }
      return undefined;
    });
  }

  /** The squiggles of the open file: their number by severity. */
  async squiggle(severity) {
    const squiggle = this.page.locator(`.squiggly-${severity}`);
    await squiggle.first().waitFor({ state: "attached", timeout: LIMIT });
    return squiggle.count();
  }

  /** The rows of the Problems panel. */
  async problems(pattern) {
    await this.command("Problems: Focus on Problems View");
    const rows = this.page.locator(".markers-panel .monaco-list-row");
    await rows.filter({ hasText: pattern }).first().waitFor({ timeout: LIMIT });
    return (await rows.allInnerTexts()).map(plain);
  }

  async openFile(name) {
    const base = name.split("/").at(-1);
    // The label goes on with the folder: a file of the same name may be open that has none.
    const label = [base, ...name.split("/").slice(0, -1)].join(" ");
    const tab = this.page.locator(`.tab.active[aria-label^="${base}"]`);
    await until(`${name} in front`, async () => {
      // Rows move while files are still found: the click may have met another one.
      await this.pick("Control+P", name, `[aria-label^=${JSON.stringify(label)}]`);
      await tab.waitFor({ timeout: LOST });
      return true;
    });
  }

  /** Pastes into the editor in front, once it has the keyboard. */
  async paste(text) {
    await this.page.evaluate((value) => navigator.clipboard.writeText(value), text);
    const first = text.trim().split("\n")[0];
    const line = this.page.locator(".editor-instance .view-line").filter({ hasText: first }).first();
    await until("the pasted text", async () => {
      await this.page.locator(".editor-instance .monaco-editor.focused").first().waitFor({ timeout: LOST });
      await this.page.keyboard.press("Control+A");
      await this.page.keyboard.press("Control+V");
      await this.page.keyboard.press("Control+Home");
      await line.waitFor({ timeout: LOST });
      return true;
    });
  }

  /** Closes the tab whose name begins so. */
  async closeTab(name) {
    const tab = this.page.locator(`.tab[aria-label^="${name}"]`);
    await tab.click({ button: "middle" });
    await tab.waitFor({ state: "detached" });
  }

  /** The lenses once they have stayed as they are for 5 s: until then kernels are lowered. */
  async settledLenses(pattern) {
    let since = Date.now();
    let before = "";
    return until("settled lenses", async () => {
      const now = (await this.lenses(pattern)).join("\n");
      if (now !== before) {
        [before, since] = [now, Date.now()];
      }
      return Date.now() - since > 5 * SECONDS ? now : undefined;
    });
  }

  /** What the status bar says for a while. */
  async notice(pattern) {
    const bar = this.page.locator(".part.statusbar");
    return until(`notice ${pattern}`, async () => {
      const text = plain(await bar.innerText());
      return pattern.test(text) ? pattern.exec(text)[0] : undefined;
    });
  }

  /** Grants trust to the workspace, from the banner of Restricted Mode. */
  async trust() {
    await this.page.getByRole("button", { name: "Manage" }).first().click();
    await this.page.locator(".workspace-trust-editor").waitFor({ timeout: LIMIT });
    await this.page.locator(".workspace-trust-editor").getByText("Trust", { exact: true }).click();
    await this.page.keyboard.press("Escape");
    const close = this.page.locator(".modal-editor-action-container .codicon-close, .editor-modal .codicon-close");
    if (await close.count()) {
      await close.first().click();
    }
  }

  async screenshot(path) {
    await this.page.screenshot({ path });
  }
}

/** Asks again until there is an answer. */
export async function until(what, ask, limit = LIMIT) {
  const deadline = Date.now() + limit;
  let failure = "";
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined) {
        return answer;
      }
    } catch (error) {
      failure = `, at last: ${error.message.split("\n")[0]}`;
    }
    if (Date.now() > deadline) {
      throw new Error(`waited ${limit / SECONDS} s for: ${what}${failure}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Text as a user reads it: no-break spaces are spaces. */
function plain(text) {
  return text.replaceAll("\u00a0", " ").replaceAll("\u200b", "");
}
