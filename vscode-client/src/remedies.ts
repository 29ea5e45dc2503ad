/** What keeps kernels from being analysed, and what to do about it: a message for each. */

import { commands, env, extensions, Uri, window } from "vscode";
import type { Unresolved } from "./resolve";

const DOWNLOADS = "https://www.python.org/downloads/";

/** Says that no Python can run the server. */
export async function offerPython(unresolved: Unresolved): Promise<void> {
  const found =
    unresolved.reasons.length === 0
      ? "none was found"
      : `this is what was found: ${unresolved.reasons.join("; ")}`;
  const message =
    `TIRLens needs Python 3.10 or newer to run, and ${found}. Install it, or name one in the ` +
    "setting tirlens.server.interpreter. Then choose Restart.";
  switch (await window.showWarningMessage(message, "Restart", "Get Python", "Open Settings")) {
    case "Restart":
      await commands.executeCommand("tirlens.restart");
      break;
    case "Get Python":
      await env.openExternal(Uri.parse(DOWNLOADS));
      break;
    case "Open Settings":
      await openSettings("tirlens.server");
      break;
    case undefined:
      break;
  }
}

/** Says that the Python of the kernels lacks their framework. */
export async function offerFramework(message: string): Promise<void> {
  const text = `TIRLens: ${message}`;
  switch (await window.showWarningMessage(text, "Select Interpreter", "Copy Message")) {
    case "Select Interpreter":
      if (extensions.getExtension("ms-python.python")) {
        await commands.executeCommand("python.setInterpreter");
      } else {
        await openSettings("tirlens.interpreter");
      }
      break;
    case "Copy Message":
      await env.clipboard.writeText(message);
      break;
    case undefined:
      break;
  }
}

async function openSettings(name: string): Promise<void> {
  await commands.executeCommand("workbench.action.openSettings", name);
}
