/** The document of the report panel: it loads the script and the style sheet of the extension. */

import { randomBytes } from "node:crypto";

/**
 * The empty page, whose script asks for data.
 *
 * @param script the address of `report.js`
 * @param style the address of `report.css`
 */
export function page(script: string, style: string): string {
  const nonce = randomBytes(16).toString("base64");
  const policy = [
    "default-src 'none'",
    "img-src data: blob:",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>TIRLens</title>
<link rel="stylesheet" nonce="${nonce}" href="${style}"></head>
<body><div id="report"></div><script nonce="${nonce}" src="${script}"></script></body></html>`;
}
