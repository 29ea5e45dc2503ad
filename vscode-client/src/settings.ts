import { ConfigurationTarget, workspace, type Uri } from "vscode";
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

/** Every other `tirlens.*` setting that holds in a folder, or in the window, as the server is told them. */
export function analysisSettings(folder?: Uri): Settings {
  const section = workspace.getConfiguration(SECTION, folder);
  // A configuration object carries its methods beside the values: a copy through JSON drops them.
  const values = JSON.parse(JSON.stringify(section)) as Settings;
  delete values.server;
  for (const name of ["device", "interpreter"]) {
    values[name] = path(values[name], folder) ?? "";
  }
  return values;
}

/**
 * Stores a setting where it is set already for `file`, else for the workspace; for the user where no
 * folder is open.
 */
export async function store(name: string, value: unknown, file?: Uri): Promise<void> {
  const section = workspace.getConfiguration(SECTION, file);
  await section.update(name, value, target(section.inspect(name)));
}

function target(
  set: { workspaceFolderValue?: unknown } | undefined,
): ConfigurationTarget {
  if (set?.workspaceFolderValue !== undefined) {
    return ConfigurationTarget.WorkspaceFolder;
  }
  const hasWorkspace = (workspace.workspaceFolders ?? []).length > 0;
  return hasWorkspace ? ConfigurationTarget.Workspace : ConfigurationTarget.Global;
}

/** A path setting with `${workspaceFolder}` and `~` filled in; null where it is empty. */
function path(value: unknown, folder = workspace.workspaceFolders?.[0]?.uri): string | null {
  if (typeof value !== "string" || value.trim() === "") {
    return null;
  }
  return value
    .trim()
    .replaceAll("${workspaceFolder}", folder?.fsPath ?? "")
    .replace(/^~(?=[/\\])/, process.env.HOME ?? process.env.USERPROFILE ?? "~");
}
