// The report page alone in a browser: what axe-core finds, and what does not fit, in each theme and
// width. Run by test_report_page.py with one JSON argument; prints one JSON line for each view.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const given = JSON.parse(process.argv[2]);
const { chromium } = await import(pathToFileURL(given.playwright).href);
const axe = await readFile(given.axe, "utf8");
const browser = await chromium.launch({
  executablePath: given.chromium,
  args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"],
});
try {
  for (const { theme, width, ...looks } of given.views) {
    // The page's own policy would keep the checker out.
    const context = await browser.newContext({ bypassCSP: true, viewport: { width, height: 900 }, ...looks });
    const page = await context.newPage();
    const errors = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(pathToFileURL(given.page).href);
    await page.locator("svg.chart[viewBox]").first().waitFor();
    await page.waitForTimeout(200);
    const size = await page.evaluate(() => ({
      scrolls: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      charts: document.querySelectorAll("svg.chart[viewBox]").length,
    }));
    const picture = `report-${theme}-${width}.png`;
    await page.screenshot({ path: join(given.screenshots, picture), fullPage: true });
    await page.evaluate(axe);
    const found = await page.evaluate(() => globalThis.axe.run());
    const violations = found.violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).slice(0, 3).join(" ")}`);
    console.log(JSON.stringify({ theme, width, picture, errors, violations, ...size }));
    await context.close();
  }
  const context = await browser.newContext({ viewport: { width: 720, height: 900 } });
  const page = await context.newPage();
  const refused = [];
  page.on("console", (message) => refused.push(message.text()));
  await page.goto(pathToFileURL(given.page).href);
  const marks = page.locator("svg.chart .mark");
  await marks.first().waitFor();
  await marks.first().focus();
  await page.keyboard.press("ArrowRight");
  const focused = await page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
  const tooltip = await page.locator(".tooltip").innerText();
  const rows = page.locator("table.lines tbody tr:visible");
  const before = await rows.count();
  await rows.first().focus();
  await page.keyboard.press("ArrowLeft");
  const after = await rows.count();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save Roofline as PNG" }).click(),
  ]);
  await download.saveAs(join(given.screenshots, "roofline.png"));
  console.log(JSON.stringify({ keyboard: { focused, tooltip, before, after, refused, saved: download.suggestedFilename() } }));
  const link = page.locator("a[data-line]").first();
  const data = JSON.parse(await page.locator("#data").textContent());
  const post = async (title) => {
    await page.evaluate((message) => window.postMessage(message), { type: "data", data: { ...data, title } });
    await page.waitForTimeout(100);
  };
  await link.evaluate((element) => {
    globalThis.link = element;
    element.addEventListener("click", () => (globalThis.clicked = true));
  });
  const isKept = () => page.evaluate(() => globalThis.link.isConnected);
  await post(data.title);
  const kept = await isKept();
  await link.hover();
  await page.mouse.down();
  await post("another title");
  await page.mouse.up();
  await page.locator("h1").filter({ hasText: "another title" }).waitFor();
  const clicked = await page.evaluate(() => globalThis.clicked === true);
  console.log(JSON.stringify({ redrawn: { kept, clicked, replaced: !(await isKept()) } }));

  // What the reader has folded, opened, scrolled to and focused, in pages drawn one after the other.
  const view = () =>
    page.evaluate(() => ({
      rows: [...document.querySelectorAll("table.lines tbody tr")].filter((row) => !row.hidden).length,
      focus: document.activeElement?.dataset.key ?? document.activeElement?.localName,
      tab: [...document.querySelectorAll("table.lines tbody tr[tabindex='0']")].map((row) => row.dataset.key),
      open: [...document.querySelectorAll("details")].filter(({ open }) => open).length,
      listing: [...document.querySelectorAll(".scroll")].at(-1).scrollTop,
      scroll: window.scrollY,
    }));
  const shown = async (change, title) => {
    const [file] = data.files;
    const message = { type: "data", data: { ...data, title, files: [{ ...file, ...change }] } };
    await page.evaluate((sent) => window.postMessage(sent), message);
    await page.locator("h1").filter({ hasText: title }).waitFor();
    return view();
  };
  await page.reload();
  await page.setViewportSize({ width: 390, height: 700 });
  const first = await shown({}, "first");
  const loop = page.locator("table.lines tbody tr[aria-expanded]").nth(1);
  await loop.focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowUp");
  await page.locator("summary").last().evaluate((summary) => summary.click());
  await page.evaluate(() => {
    [...document.querySelectorAll(".scroll")].at(-1).scrollTo(0, 40);
    window.scrollTo(0, 900);
  });
  const left = await view();
  const saved = await shown({ origin: "saved 15:00:00" }, "saved");
  const other = await shown({ path: "/x/other.py" }, "other");
  const back = await shown({}, "back");
  await page.evaluate(() => window.postMessage({ type: "empty", message: "k.py is not analysed yet." }));
  await page.locator(".empty").waitFor();
  const analysed = await shown({}, "analysed");
  await page.locator("button.link").first().focus();
  await page.keyboard.press("Enter");
  await shown({}, "button");
  const button = await page.evaluate(() => document.activeElement?.className);
  console.log(JSON.stringify({ views: { first, left, saved, other, back, analysed, button } }));
} finally {
  await browser.close();
}
