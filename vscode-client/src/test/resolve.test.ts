import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { test } from "node:test";
import { candidates, installCommand, resolve, type Surroundings } from "../resolve";

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
  const selectedPython = program(join(around.home, "selected/python"), python("3.11"));
  const own = program(join(around.workspace, ".venv/bin/python"), python("3.11", "1.2.3"));
  const found = program(join(around.home, "bin/python3"), python("3.12", "2.0"));
  const tried = candidates({ ...around, selectedPython });
  assert.deepEqual(
    tried.map(({ file }) => file),
    [selectedPython, own, found],
  );
  const resolved = await resolve(tried, around.home);
  assert.ok("command" in resolved);
  assert.equal(resolved.command, own);
  assert.equal(resolved.version, "1.2.3");
  assert.deepEqual(resolved.args, ["-m", "tirlens", "serve", "--stdio"]);
});

test("without trust no interpreter of the workspace is started", () => {
  const around = surroundings();
  program(join(around.workspace, ".venv/bin/python"), python("3.11", "1.2.3"));
  const tool = program(join(around.workspace, "tools/tirlens"), "echo tirlens 1");
  const selectedPython = program(join(around.workspace, "env/bin/python"), python("3.11", "1"));
  assert.equal(candidates({ ...around, selectedPython }).length, 3);
  assert.ok(candidates(around).some(({ file }) => file === tool));
  assert.deepEqual(candidates({ ...around, selectedPython, trusted: false }), []);
});

test("what is wrong with each is said, and where to install", async () => {
  const around = surroundings();
  const old = program(join(around.workspace, ".venv/bin/python"), python("3.8", "1.0"));
  const broken = program(join(around.home, "bin/python3"), "exit 3");
  const bare = program(join(around.home, "bin/python"), python("3.10"));
  const resolved = await resolve(candidates(around), around.home);
  assert.ok("reasons" in resolved);
  assert.equal(resolved.installInto, bare);
  assert.equal(resolved.reasons.length, 3);
  assert.match(resolved.reasons[0] ?? "", /Python 3\.8, the server needs 3\.10 or newer/);
  assert.ok(resolved.reasons[0]?.startsWith(old));
  assert.ok(resolved.reasons[1]?.startsWith(broken));
  assert.match(resolved.reasons[2] ?? "", /tirlens is not installed/);
  assert.deepEqual(installCommand(bare), [bare, "-m", "pip", "install", "tirlens"]);
});

test("a program on the path is preferred to an interpreter on the path", async () => {
  const around = surroundings();
  const tool = program(join(around.home, "bin/tirlens"), "echo tirlens 0.4.0");
  program(join(around.home, "bin/python3"), python("3.12", "0.4.0"));
  const resolved = await resolve(candidates(around), around.home);
  assert.ok("command" in resolved);
  assert.equal(resolved.command, tool);
  assert.equal(resolved.version, "0.4.0");
  assert.deepEqual(resolved.args, ["serve", "--stdio"]);
});
