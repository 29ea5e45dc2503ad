import { ConfigurationTarget, workspace } from "vscode";
import type { Settings } from "./protocol";

const SECTION = "tirlens";

/** Settings that only this extension reads: how to start the server. */
export interface ServerSettings {
  path: string | null;
  interpreter: string | null;
}

export function serverSettings(): ServerSettings {
  const section = workspace.getConfiguration(`${SECTION}.server`);
  return { path: path(section.get("path")), interpreter: path(section.get("interpreter")) };
}

/** Every other `tirlens.*` setting, as the server is told them. */
export function analysisSettings(): Settings {
  const section = workspace.getConfiguration(SECTION);
  // A configuration object carries its methods beside the values: a copy through JSON drops them.
  const values = JSON.parse(JSON.stringify(section)) as Settings;
  delete values.server;
  return values;
}

/** Stores a setting where it is set already, else for the user: no file appears in the project. */
export async function store(name: string, value: unknown): Promise<void> {
  const section = workspace.getConfiguration(SECTION);
  const set = section.inspect(name);
  const target =
    set?.workspaceValue !== undefined ? ConfigurationTarget.Workspace : ConfigurationTarget.Global;
  await section.update(name, value, target);
}

/** A path setting with `${workspaceFolder}` and `~` filled in; null where it is empty. */
function path(value: unknown): string | null {
  if (typeof value !== "string" || value.trim() === "") {
    return null;
  }
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  return value
    .trim()
    .replaceAll("${workspaceFolder}", folder)
    .replace(/^~(?=[/\\])/, process.env.HOME ?? process.env.USERPROFILE ?? "~");
}
