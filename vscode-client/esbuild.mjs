import { readdirSync } from "node:fs";
import { build } from "esbuild";

const common = {
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  external: ["vscode"],
  logLevel: "warning",
};

if (process.argv.includes("--tests")) {
  const folder = "src/test";
  const tests = readdirSync(folder).filter((name) => name.endsWith(".test.ts"));
  await build({
    ...common,
    entryPoints: tests.map((name) => `${folder}/${name}`),
    outdir: "out/test",
    sourcemap: "inline",
  });
} else {
  await build({
    ...common,
    entryPoints: ["src/extension.ts"],
    outfile: "out/extension.js",
    minify: true,
    sourcemap: false,
  });
}
