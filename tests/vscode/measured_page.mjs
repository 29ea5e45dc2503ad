// The page of a measured step in a browser: what axe-core finds and what does not fit in each theme
// and width; keyboard, filter, sorting, gaps, pictures, paper. Run by test_measured_page.py with one
// JSON argument; prints one JSON line for each view, and one of what the reader does.

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
  for (const { theme, width, name, ...looks } of given.views) {
    // The page's own policy would keep the checker out.
    const context = await browser.newContext({ bypassCSP: true, viewport: { width, height: 900 }, ...looks });
    const page = await context.newPage();
    const errors = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(pathToFileURL(join(given.screenshots, `${name}.html`)).href);
    await page.locator("svg.chart[viewBox]").first().waitFor();
    await page.waitForTimeout(200);
    const size = await page.evaluate(() => ({
      scrolls: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      charts: document.querySelectorAll("svg.chart[viewBox]").length,
    }));
    await page.screenshot({ path: join(given.screenshots, `${name}-${theme}-${width}.png`), fullPage: true });
    await page.evaluate(axe);
    const found = await page.evaluate(() => globalThis.axe.run());
    const violations = found.violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).slice(0, 3).join(" ")}`);
    console.log(JSON.stringify({ name, theme, width, errors, violations, ...size }));
    await context.close();
  }
  const context = await browser.newContext({ viewport: { width: 900, height: 900 } });
  const page = await context.newPage();
  const refused = [];
  page.on("console", (message) => refused.push(message.text()));
  page.on("pageerror", (error) => refused.push(String(error)));
  await page.goto(pathToFileURL(join(given.screenshots, "measured.html")).href);
  const lane = page.locator("g.lane").first();
  await lane.waitFor();
  const said = () => page.locator(".announcement").innerText();
  const marks = () => page.locator("g.lane").first().locator("rect.segment").count();
  const brush = async () => Number(await page.locator(".brush").getAttribute("width"));
  const all = { marks: await marks(), brush: await brush() };
  await lane.focus();
  await page.keyboard.press("ArrowRight");
  const first = await said();
  await page.keyboard.press("ArrowRight");
  const second = await said();
  const tooltip = await page.locator(".tooltip").innerText();
  await page.keyboard.press("Enter");
  const zoomed = { marks: await marks(), brush: await brush() };
  await page.keyboard.press("g");
  const gap = await said();
  await page.keyboard.press("0");
  const again = await marks();
  await page.keyboard.press("ArrowDown");
  const lanes = await page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
  await page.locator("ol.gaps button").first().click();
  const shown = await brush();

  const table = page.locator("section.wide").last();
  const names = () => table.locator("tbody th .full").allInnerTexts();
  await table.getByRole("button", { name: "time" }).click();
  const down = await names();
  await table.getByRole("button", { name: "time" }).click();
  const up = await names();
  const sort = await table.locator("th[aria-sort=ascending]").innerText();
  await table.locator("input").fill("flash");
  const filtered = await names();
  await page.locator("section.wide").first().locator("tbody button.link").first().click();
  const faded = await page.locator("g.lane .faded").count();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save Timeline as SVG" }).click(),
  ]);
  const saved = join(given.screenshots, "timeline.svg");
  await download.saveAs(saved);
  const svg = await readFile(saved, "utf8");
  await page.emulateMedia({ media: "print" });
  const printed = await page.evaluate(() => ({
    buttons: [...document.querySelectorAll("button.small")].filter((one) => one.checkVisibility()).length,
    hidden: [...document.querySelectorAll(".scroll")].filter((one) => one.scrollHeight > one.clientHeight + 2).length,
  }));
  console.log(
    JSON.stringify({
      keyboard: { first, second, tooltip, gap, lanes },
      zoom: { all, zoomed, again, shown },
      table: { down: down.slice(0, 2), up: up.slice(0, 2), sort, filtered, faded },
      picture: { name: download.suggestedFilename(), coloured: svg.includes('fill="color(') || svg.includes("fill=\"rgb(") },
      printed,
      refused,
    }),
  );
} finally {
  await browser.close();
}
