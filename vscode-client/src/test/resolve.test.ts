import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { test } from "node:test";
import { agentTools, candidates, isNewer, resolve, type Bundled, type Surroundings } from "../resolve";

const BUNDLED: Bundled = { folder: "/extension/bundled", version: "1.2.0", cache: "/storage/pycache" };
const START_BUNDLED = ["-I", "-S", "-X", "pycache_prefix=/storage/pycache", "/extension/bundled", "serve", "--stdio"];

function program(path: string, script: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

const python = (version: string, tirlens?: string): string =>
  `echo '${JSON.stringify({ python: version.split(".").map(Number), tirlens })}'`;

function surroundings(): Surroundings & { home: string; workspace: string } {
  const home = mkdtempSync(join(tmpdir(), "tirlens-resolve-"));
  const workspace = join(home, "workspace");
  const searchPath = [join(home, "bin"), "relative", join(workspace, "tools")].join(delimiter);
  return {
    home,
    workspace,
    serverPath: null,
    serverInterpreter: null,
    selectedPython: null,
    folders: [workspace],
    trusted: true,
    searchPath,
    windows: false,
  };
}

/** The candidates of a test's own folder: the machine's Pythons come after them. */
function own(around: Surroundings & { home: string }): ReturnType<typeof candidates> {
  return candidates(around).filter(({ file }) => file.startsWith(around.home));
}

test("a setting leaves no alternative, and the path comes before the interpreter", () => {
  const around = surroundings();
  const server = program(join(around.home, "mine/tirlens"), "echo tirlens 9.9");
  const interpreter = program(join(around.home, "mine/python"), python("3.12", "1.0"));
  program(join(around.home, "bin/python3"), python("3.12", "1.0"));
  const files = (more: Partial<Surroundings>): string[] =>
    candidates({ ...around, ...more }).map(({ file }) => file);
  assert.deepEqual(files({ serverPath: server, serverInterpreter: interpreter }), [server]);
  assert.deepEqual(files({ serverInterpreter: interpreter }), [interpreter]);
});

test("selected environment, then the workspace's, then the path", async () => {
  const around = surroundings();
  const selectedPython = program(join(around.home, "selected/python"), python("3.9"));
  const workspaces = program(join(around.workspace, ".venv/bin/python"), python("3.11"));
  const found = program(join(around.home, "bin/python3"), python("3.12"));
  const tried = own({ ...around, selectedPython });
  assert.deepEqual(
    tried.map(({ file }) => file),
    [selectedPython, workspaces, found],
  );
  const resolved = await resolve(tried, around.home, BUNDLED);
  assert.ok("command" in resolved);
  assert.equal(resolved.command, workspaces);
  assert.equal(resolved.version, "1.2.0");
  assert.deepEqual(resolved.args, START_BUNDLED);
});

for (const [version, bundled] of [
  ["1.1.9", true],
  ["1.2.0", true],
  ["1.2.1", false],
  ["1.10.0", false],
] as const) {
  test(`an installed ${version} ${bundled ? "is not" : "is"} preferred to a bundled 1.2.0`, async () => {
    const around = surroundings();
    const selectedPython = program(join(around.home, "selected/python"), python("3.11", version));
    const resolved = await resolve(own({ ...around, selectedPython }), around.home, BUNDLED);
    assert.ok("command" in resolved);
    assert.equal(resolved.bundled, bundled);
    assert.equal(resolved.version, bundled ? "1.2.0" : version);
    assert.deepEqual(resolved.args, bundled ? START_BUNDLED : ["-m", "tirlens", "serve", "--stdio"]);
  });
}

test("the server of an interpreter that a setting names is used whatever its version", async () => {
  const around = surroundings();
  const serverInterpreter = program(join(around.home, "mine/python"), python("3.12", "0.1"));
  const resolved = await resolve(candidates({ ...around, serverInterpreter }), around.home, BUNDLED);
  assert.ok("command" in resolved);
  assert.equal(resolved.version, "0.1");
});

test("a newer Python of another name is found where python3 is too old", async () => {
  const around = surroundings();
  program(join(around.home, "bin/python3"), python("3.9"));
  const newer = program(join(around.home, "bin/python3.12"), python("3.12"));
  const resolved = await resolve(own(around), around.home, BUNDLED);
  assert.ok("command" in resolved);
  assert.equal(resolved.command, newer);
});

test("without trust no interpreter of the workspace is started", () => {
  const around = surroundings();
  program(join(around.workspace, ".venv/bin/python"), python("3.11", "9.9"));
  program(join(around.workspace, "tools/python3"), python("3.11"));
  const selectedPython = program(join(around.workspace, "env/bin/python"), python("3.11", "9"));
  assert.equal(own({ ...around, selectedPython }).length, 3);
  assert.deepEqual(own({ ...around, selectedPython, trusted: false }), []);
});

test("what is wrong with each is said", async () => {
  const around = surroundings();
  const old = program(join(around.workspace, ".venv/bin/python"), python("3.8", "1.0"));
  const broken = program(join(around.home, "bin/python3"), "exit 3");
  const resolved = await resolve(own(around), around.home, BUNDLED);
  assert.ok("reasons" in resolved);
  assert.equal(resolved.reasons.length, 2);
  assert.match(resolved.reasons[0] ?? "", /Python 3\.8, the server needs 3\.10 or newer/);
  assert.ok(resolved.reasons[0]?.startsWith(old));
  assert.ok(resolved.reasons[1]?.startsWith(broken));
});

test("versions are compared by their numbers", () => {
  assert.ok(isNewer("0.10", "0.9.9"));
  assert.ok(!isNewer("1.0", "1.0.0"));
  assert.ok(isNewer("1.0.1.dev3", "1.0"));
  assert.ok(!isNewer("", "0.1"));
});

test("the tools for agents run where the SDK is, with the folders that are trusted", async () => {
  const around = surroundings();
  const has = program(join(around.home, "bin/python3"), `[ "$2" = -S ] && exit 1; ${python("3.12")}`);
  const lacks = program(join(around.home, "other/python3"), `case "$*" in *mcp*) exit 1;; esac; ${python("3.12")}`);
  const start = async (file: string): Promise<ReturnType<typeof agentTools>> => {
    const found = await resolve([{ kind: "python", file, why: "PATH" }], around.home, BUNDLED);
    assert.ok("command" in found);
    return agentTools(found, ["/one", "/other folder"], around.home);
  };
  const args = ["-I", "-X", "pycache_prefix=/storage/pycache", "/extension/bundled", "mcp"];
  const allow = ["--allow", "/one", "--allow", "/other folder"];
  assert.deepEqual(await start(has), { command: has, args: [...args, ...allow] });
  const missing = await start(lacks);
  assert.ok(typeof missing === "string");
  assert.match(missing, /does not have the MCP SDK/);
  const own = { command: "/bin/tirlens", args: ["serve", "--stdio"], version: "1", why: "", bundled: false };
  assert.deepEqual(await agentTools(own, ["/one"], around.home), {
    command: "/bin/tirlens",
    args: ["mcp", "--allow", "/one"],
  });
});
