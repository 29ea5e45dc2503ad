// Makes tirlens.vsix: the server, the bundled code of the extension, and what package.json names.
// The same files make the same bytes. PYTHON names the Python (with pip) that fetches the server's
// dependencies.

import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";

const python = process.env.PYTHON ?? (process.platform === "win32" ? "python" : "python3");
// The date of the files in the archive; vsce orders them by name.
const env = { ...process.env, SOURCE_DATE_EPOCH: "1577836800" };

function run(file, ...args) {
  execFileSync(file, args, { stdio: "inherit", env });
}

// The Marketplace shows the changelog of the repository.
copyFileSync("../CHANGELOG.md", "CHANGELOG.md");
run(python, "bundle.py");
run(process.execPath, "esbuild.mjs");
// vsce leaves out the folder of the extension in the addresses of pictures.
const pictures = ["--baseImagesUrl", "https://github.com/tirlens/tirlens/raw/HEAD/vscode-client"];
run(process.execPath, "node_modules/@vscode/vsce/vsce", "package", "--no-dependencies", ...pictures, "--out", "tirlens.vsix");
run(python, "bundle.py", "--check", "tirlens.vsix");
