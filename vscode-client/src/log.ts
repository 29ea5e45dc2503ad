import { window } from "vscode";

/** The output channel "TIRLens": what the extension decided, and what the server logs. */
export const log = window.createOutputChannel("TIRLens", { log: true });

/** The text of anything that was thrown. */
export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
