/** Which Python starts which server. Knows nothing of VS Code, so that it can be tested alone. */

import { execFile } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { delimiter, isAbsolute, join, relative } from "node:path";
import { promisify } from "node:util";

/** The oldest Python that the server runs on. */
const OLDEST: readonly [number, number] = [3, 10];
/** Names on the PATH where `python3` itself is older. */
const NAMES = ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];
/** Folders that an editor which was started from the desktop often lacks on its PATH. */
const USUAL_FOLDERS = ["/opt/homebrew/bin", "/usr/local/bin", "/usr/bin"];
const PROBE_MS = 30_000;
const SERVE = ["serve", "--stdio"];
const PROBE = `
import json, sys
found = {"python": list(sys.version_info[:2])}
try:
    from tirlens.version import __version__
    found["tirlens"] = __version__
except ImportError:
    pass
print(json.dumps(found))
`;

/** What decides where to look. */
export interface Surroundings {
  /** The settings `tirlens.server.path` and `tirlens.server.interpreter`. */
  serverPath: string | null;
  serverInterpreter: string | null;
  /** The interpreter that the Python extension has selected. */
  selectedPython: string | null;
  folders: readonly string[];
  trusted: boolean;
  searchPath: string;
  windows: boolean;
}

/** A program that may be able to run the server. */
export interface Candidate {
  kind: "python" | "program";
  file: string;
  why: string;
  /** Its own server is meant, whatever its version: a setting names it. */
  chosen?: boolean;
}

/** The server inside the extension. */
export interface Bundled {
  /** The folder that a Python runs. */
  folder: string;
  version: string;
  /** Where Python keeps what it compiles: the extension's own folder may be read-only. */
  cache: string;
}

export interface Resolved {
  command: string;
  args: string[];
  version: string;
  why: string;
  bundled: boolean;
}

/** Why no candidate can run the server. */
export interface Unresolved {
  reasons: string[];
}

/** In the order in which they are tried; a setting leaves no alternative to what it names. */
export function candidates(around: Surroundings): Candidate[] {
  if (around.serverPath) {
    const why = "setting tirlens.server.path";
    return [{ kind: "program", file: around.serverPath, why, chosen: true }];
  }
  if (around.serverInterpreter) {
    const why = "setting tirlens.server.interpreter";
    return [{ kind: "python", file: around.serverInterpreter, why, chosen: true }];
  }
  const found: Candidate[] = [];
  if (around.selectedPython) {
    found.push({ kind: "python", file: around.selectedPython, why: "the Python extension" });
  }
  const scripts = around.windows ? "Scripts" : "bin";
  const suffix = around.windows ? ".exe" : "";
  for (const folder of around.folders) {
    for (const environment of [".venv", "venv"]) {
      const file = join(folder, environment, scripts, `python${suffix}`);
      found.push({ kind: "python", file, why: `${environment} of the workspace` });
    }
  }
  const search = around.searchPath.split(delimiter).filter(isAbsolute);
  const folders = around.windows ? search : [...search, ...USUAL_FOLDERS];
  const names = around.windows ? ["python.exe"] : NAMES;
  for (const name of names) {
    for (const folder of folders) {
      found.push({ kind: "python", file: join(folder, name), why: "PATH" });
    }
  }
  // Starting an interpreter of the workspace runs the workspace's code (a `.pth` file is enough).
  const allowed = around.trusted
    ? found
    : found.filter(({ file }) => !around.folders.some((folder) => isInside(file, folder)));
  return distinct(allowed.filter(({ file }) => existsSync(file)));
}

/** The server of the first candidate that can run one, or what was wrong with each. */
export async function resolve(
  tried: readonly Candidate[],
  cwd: string,
  bundled: Bundled,
): Promise<Resolved | Unresolved> {
  const reasons: string[] = [];
  for (const candidate of tried) {
    const answer = await probe(candidate, cwd, bundled);
    if (typeof answer !== "string") {
      return answer;
    }
    reasons.push(answer);
  }
  return { reasons };
}

/** The server that a candidate runs, or why it runs none. */
async function probe(
  candidate: Candidate,
  cwd: string,
  bundled: Bundled,
): Promise<Resolved | string> {
  const { file, why } = candidate;
  const python = candidate.kind === "python";
  const args = python ? ["-c", PROBE] : ["--version"];
  const run = promisify(execFile);
  let output: string;
  try {
    ({ stdout: output } = await run(file, args, { cwd, timeout: PROBE_MS, windowsHide: true }));
  } catch (error) {
    const told = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    return `${file} (${why}): ${told}`;
  }
  if (!python) {
    const version = output.trim().split(/\s+/).at(-1) ?? "";
    return { command: file, args: SERVE, version, why, bundled: false };
  }
  const found = JSON.parse(output) as { python: [number, number]; tirlens?: string };
  const [major, minor] = found.python;
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    const needed = OLDEST.join(".");
    return `${file} (${why}): Python ${major}.${minor}, the server needs ${needed} or newer`;
  }
  const own = found.tirlens;
  if (own !== undefined && (candidate.chosen === true || isNewer(own, bundled.version))) {
    const start = ["-m", "tirlens", ...SERVE];
    return { command: file, args: start, version: own, why, bundled: false };
  }
  // Isolated and without site-packages: no installed package and no `.pth` file has a part in it.
  const isolated = ["-I", "-S", "-X", `pycache_prefix=${bundled.cache}`];
  return {
    command: file,
    args: [...isolated, bundled.folder, ...SERVE],
    version: bundled.version,
    why: `bundled; Python: ${why}`,
    bundled: true,
  };
}

/**
 * The command of the tools for agents, which a server's Python runs with the SDK that is installed
 * there; or what is missing.
 */
export async function agentTools(
  found: Resolved,
  folders: readonly string[],
  cwd: string,
): Promise<{ command: string; args: string[] } | string> {
  const { command } = found;
  // An installed SDK is among the site packages.
  const before = found.args.slice(0, -SERVE.length).filter((option) => option !== "-S");
  const args = [...before, "mcp", ...folders.flatMap((folder) => ["--allow", folder])];
  if (before.length > 0) {
    const isolated = found.bundled ? ["-I"] : [];
    try {
      await promisify(execFile)(command, [...isolated, "-c", "import mcp"], {
        cwd,
        timeout: PROBE_MS,
        windowsHide: true,
      });
    } catch {
      return `${command} does not have the MCP SDK. Install it: ${command} -m pip install "mcp>=2.3,<3"`;
    }
  }
  return { command, args };
}

/** Whether a release is later than another, by the numbers before any suffix. */
export function isNewer(version: string, than: string): boolean {
  const numbers = (text: string): number[] => (/^[\d.]*/.exec(text)?.[0] ?? "").split(".").map(Number);
  const [left, right] = [numbers(version), numbers(than)];
  for (let place = 0; place < Math.max(left.length, right.length); place += 1) {
    const difference = (left[place] ?? 0) - (right[place] ?? 0);
    if (difference !== 0) {
      return difference > 0;
    }
  }
  return false;
}

/** Drops what the search path reaches twice; links of an environment are environments of their own. */
function distinct(found: readonly Candidate[]): Candidate[] {
  const seen = new Set<string>();
  return found.filter(({ file, why }) => {
    const program = why === "PATH" ? realpathSync(file) : file;
    const isNew = !seen.has(program);
    seen.add(program);
    return isNew;
  });
}

function isInside(file: string, folder: string): boolean {
  const path = relative(folder, file);
  return path !== "" && !path.startsWith("..") && !isAbsolute(path);
}
