import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "../page";

const REPORT = `<!DOCTYPE html><html><head><title>t</title></head>
<body><p>report</p><script>alert(1)</script></body></html>`;

test("the policy comes before everything else and lets one script run", () => {
  const shown = page(REPORT);
  const nonce = /script-src 'nonce-([^']+)'/.exec(shown)?.[1];
  assert.ok(nonce);
  assert.ok(shown.indexOf("Content-Security-Policy") < shown.indexOf("<title>"));
  assert.ok(shown.includes("default-src 'none'"));
  assert.equal(shown.split(`<script nonce="${nonce}">`).length, 2);
  assert.ok(shown.includes("<script>alert(1)</script>"), "left as it was, and blocked");
  assert.ok(!shown.includes("'unsafe-inline'; script-src 'unsafe-inline'"));
});

test("every page has a nonce of its own", () => {
  const nonce = (): string | undefined => /'nonce-([^']+)'/.exec(page(REPORT))?.[1];
  assert.notEqual(nonce(), nonce());
});

test("a fragment without a head becomes a document", () => {
  const shown = page("<p>report</p>");
  assert.ok(shown.startsWith("<!DOCTYPE html>"));
  assert.ok(shown.indexOf("Content-Security-Policy") < shown.indexOf("<p>report</p>"));
});
