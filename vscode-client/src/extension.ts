import { Uri, workspace, type ExtensionContext, type TextDocument } from "vscode";
import { mentionsFramework, Server } from "./client";
import { offerInstall, registerCommands } from "./commands";
import { log } from "./log";
import { Reading } from "./reading";
import { Reports } from "./report";
import { StatusItem } from "./status";

let server: Server | undefined;

export function activate(context: ExtensionContext): void {
  const started = new Server(context.extensionPath);
  server = started;
  const status = new StatusItem(started);
  const reports = new Reports(started, Uri.joinPath(context.extensionUri, "out"));
  const { version } = context.extension.packageJSON as { version: string };
  // Python files without kernels cost nothing: the first one that may have some starts the server.
  const consider = (document: TextDocument): void => {
    if (started.condition.kind === "stopped" && mentionsFramework(document)) {
      void started.start();
    }
  };
  let told = false;
  context.subscriptions.push(
    log,
    started,
    status,
    reports,
    new Reading(started),
    ...registerCommands(started, status, reports, version),
    workspace.onDidOpenTextDocument(consider),
    workspace.onDidSaveTextDocument(consider),
    started.onDidChangeCondition((condition) => {
      if (condition.kind === "missing" && !told) {
        told = true;
        void offerInstall(started, condition.unresolved);
      }
    }),
  );
  workspace.textDocuments.forEach(consider);
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
