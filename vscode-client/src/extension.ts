import { Uri, workspace, type ExtensionContext, type TextDocument } from "vscode";
import { offerTools } from "./agents";
import { mentionsFramework, Server } from "./client";
import { registerCommands } from "./commands";
import { DevicePicker } from "./devices";
import { GeneratedTexts } from "./generated";
import { log } from "./log";
import { Reading } from "./reading";
import { offerFramework, offerPython } from "./remedies";
import { Reports } from "./report";
import { EditorRoom } from "./room";
import { StatusItem } from "./status";

let server: Server | undefined;

export function activate(context: ExtensionContext): void {
  const { version } = context.extension.packageJSON as { version: string };
  const started = new Server(context.extensionPath, {
    folder: context.asAbsolutePath("bundled"),
    version,
    cache: Uri.joinPath(context.globalStorageUri, "pycache").fsPath,
  });
  server = started;
  const status = new StatusItem(started);
  const generated = new GeneratedTexts(started);
  const reports = new Reports(started, Uri.joinPath(context.extensionUri, "out"));
  const devices = new DevicePicker(started, context.globalState);
  const samples = Uri.joinPath(context.extensionUri, "samples");
  // Python files without kernels cost nothing: the first one that may have some starts the server.
  const consider = (document: TextDocument): void => {
    if (started.condition.kind === "stopped" && mentionsFramework(document)) {
      void started.start();
    }
  };
  // Each remedy is offered once by itself; the status item and Restart say it again.
  let toldOfPython = false;
  let toldOfFramework = false;
  context.subscriptions.push(
    log,
    started,
    status,
    reports,
    generated,
    new Reading(started),
    new EditorRoom(started),
    ...offerTools(started, context.extensionPath, version),
    ...registerCommands(started, status, reports, generated, devices, samples, version),
    workspace.onDidOpenTextDocument(consider),
    workspace.onDidSaveTextDocument(consider),
    started.onDidChangeCondition((condition) => {
      if (condition.kind === "missing" && !toldOfPython) {
        toldOfPython = true;
        void offerPython(condition.unresolved);
      }
    }),
    started.onStatus(({ state, message }) => {
      if (state === "no-framework" && message && !toldOfFramework) {
        toldOfFramework = true;
        void offerFramework(message);
      }
    }),
  );
  // The search for a Python looks at many folders, and the editor waits for the activation.
  setImmediate(() => {
    workspace.textDocuments.forEach(consider);
  });
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
