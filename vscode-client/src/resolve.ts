/** Which command starts the server. Knows nothing of VS Code, so that it can be tested alone. */

import { execFile } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { delimiter, isAbsolute, join, relative } from "node:path";
import { promisify } from "node:util";

/** The oldest Python that the server runs on. */
const OLDEST: readonly [number, number] = [3, 10];
const PROBE_MS = 30_000;
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
}

export interface Resolved {
  command: string;
  args: string[];
  version: string;
  why: string;
}

/** Why no candidate can run the server, and the interpreter to install it into. */
export interface Unresolved {
  reasons: string[];
  installInto: string | null;
}

/** In the order in which they are tried; a setting leaves no alternative to what it names. */
export function candidates(around: Surroundings): Candidate[] {
  if (around.serverPath) {
    return [{ kind: "program", file: around.serverPath, why: "setting tirlens.server.path" }];
  }
  if (around.serverInterpreter) {
    const why = "setting tirlens.server.interpreter";
    return [{ kind: "python", file: around.serverInterpreter, why }];
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
  for (const folder of search) {
    found.push({ kind: "program", file: join(folder, `tirlens${suffix}`), why: "PATH" });
  }
  for (const folder of search) {
    for (const name of around.windows ? ["python.exe"] : ["python3", "python"]) {
      found.push({ kind: "python", file: join(folder, name), why: "PATH" });
    }
  }
  // Starting an interpreter of the workspace runs the workspace's code (a `.pth` file is enough).
  const allowed = around.trusted
    ? found
    : found.filter(({ file }) => !around.folders.some((folder) => isInside(file, folder)));
  return distinct(allowed.filter(({ file }) => existsSync(file)));
}

/** The first candidate that has the server, or what was wrong with each. */
export async function resolve(
  tried: readonly Candidate[],
  cwd: string,
): Promise<Resolved | Unresolved> {
  const reasons: string[] = [];
  let installInto: string | null = null;
  for (const candidate of tried) {
    const answer = await probe(candidate, cwd);
    if ("version" in answer) {
      return answer;
    }
    reasons.push(answer.problem);
    if (answer.canInstall) {
      installInto ??= candidate.file;
    }
  }
  return { reasons, installInto };
}

/** The words of the command that installs the server. */
export function installCommand(python: string): string[] {
  return [python, "-m", "pip", "install", "tirlens"];
}

interface Refusal {
  problem: string;
  canInstall: boolean;
}

async function probe(candidate: Candidate, cwd: string): Promise<Resolved | Refusal> {
  const { file, why } = candidate;
  const python = candidate.kind === "python";
  const args = python ? ["-c", PROBE] : ["--version"];
  const run = promisify(execFile);
  let output: string;
  try {
    ({ stdout: output } = await run(file, args, { cwd, timeout: PROBE_MS, windowsHide: true }));
  } catch (error) {
    const told = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    return { problem: `${file} (${why}): ${told}`, canInstall: false };
  }
  if (!python) {
    const version = output.trim().split(/\s+/).at(-1) ?? "";
    return { command: file, args: ["serve", "--stdio"], version, why };
  }
  const found = JSON.parse(output) as { python: [number, number]; tirlens?: string };
  const [major, minor] = found.python;
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    const needed = OLDEST.join(".");
    return {
      problem: `${file} (${why}): Python ${major}.${minor}, the server needs ${needed} or newer`,
      canInstall: false,
    };
  }
  if (found.tirlens === undefined) {
    return { problem: `${file} (${why}): tirlens is not installed`, canInstall: true };
  }
  const start = ["-m", "tirlens", "serve", "--stdio"];
  return { command: file, args: start, version: found.tirlens, why };
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
