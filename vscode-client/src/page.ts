/** Makes the server's report safe to show: nothing is loaded, and one script runs, this one. */

import { randomBytes } from "node:crypto";

const SCRIPT = `
const vscode = acquireVsCodeApi();
document.addEventListener("click", (event) => {
  const line = event.target.closest("[data-line]")?.dataset.line;
  if (line) {
    event.preventDefault();
    vscode.postMessage({ line: Number(line) });
  }
});
`;

/** The document with a content security policy and the script behind its links to lines. */
export function page(html: string): string {
  const nonce = randomBytes(16).toString("base64");
  const policy =
    `default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'nonce-${nonce}'`;
  const meta = `<meta http-equiv="Content-Security-Policy" content="${policy}">`;
  const script = `<script nonce="${nonce}">${SCRIPT}</script>`;
  const head = /<head[^>]*>/i.exec(html);
  if (!head) {
    return `<!DOCTYPE html><html><head>${meta}</head><body>${html}${script}</body></html>`;
  }
  const start = head.index + head[0].length;
  const body = html.slice(start);
  const end = body.toLowerCase().lastIndexOf("</body>");
  const scripted = end < 0 ? body + script : body.slice(0, end) + script + body.slice(end);
  return html.slice(0, start) + meta + scripted;
}
