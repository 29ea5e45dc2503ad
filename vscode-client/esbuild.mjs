import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
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
  const notice = `/* With d3:\n${await readFile("node_modules/d3-selection/LICENSE", "utf8")}*/`;
  // The pages are packed with the extension, and for `tirlens report --html` with the server.
  const isServer = process.argv.includes("--server");
  for (const [name, folder, room] of [
    ["report", "src/page", "report_page"],
    ["measured", "src/page/measured", "measured_page"],
  ]) {
    await build({
      bundle: true,
      platform: "browser",
      target: "es2023",
      format: "iife",
      minify: true,
      logLevel: "warning",
      legalComments: "none",
      charset: "utf8",
      banner: { js: notice },
      entryPoints: [
        { in: `${folder}/main.ts`, out: name },
        { in: `${folder}/${name}.css`, out: name },
      ],
      outdir: isServer ? `../server/tirlens/ide/${room}` : "out",
    });
  }
  // The client of the protocol is most of the code, and is loaded when a server is started.
  const client = "languageClient";
  await build({
    ...common,
    external: [...common.external, `./${client}.js`],
    entryPoints: ["src/extension.ts", `src/${client}.ts`],
    outdir: "out",
    minify: true,
    sourcemap: false,
  });
}
