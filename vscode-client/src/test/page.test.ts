import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "../page";

const nonceOf = (html: string): string | undefined => /script-src 'nonce-([^']+)'/.exec(html)?.[1];

test("the policy allows what carries the nonce and nothing else", () => {
  const html = page("https://host/report.js", "https://host/report.css");
  const nonce = nonceOf(html);
  assert.ok(nonce);
  assert.ok(html.includes("default-src 'none'"));
  assert.ok(!html.includes("unsafe-"));
  assert.equal(html.split(` nonce="${nonce}"`).length, 3);
  assert.ok(html.indexOf("Content-Security-Policy") < html.indexOf("report.css"));
});

test("every page has a nonce of its own", () => {
  assert.notEqual(nonceOf(page("a", "b")), nonceOf(page("a", "b")));
});
