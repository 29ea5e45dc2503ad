import {
  Position,
  Range,
  Selection,
  TextEditorRevealType,
  Uri,
  ViewColumn,
  window,
  type Disposable,
  type WebviewPanel,
} from "vscode";
import type { Server } from "./client";
import { page } from "./page";
import { SERVER, type Report } from "./protocol";

/** The wide report beside the editor, one panel a document, kept up to date with it. */
export class Reports implements Disposable {
  private readonly panels = new Map<string, WebviewPanel>();
  private readonly subscription: Disposable;

  constructor(private readonly server: Server) {
    this.subscription = server.onStatus((status) => {
      if (status.state === "ready" && status.uri !== null && this.panels.has(status.uri)) {
        void this.fill(status.uri);
      }
    });
  }

  async show(uri: string): Promise<void> {
    let panel = this.panels.get(uri);
    if (panel) {
      panel.reveal(undefined, true);
    } else {
      const column = { viewColumn: ViewColumn.Beside, preserveFocus: true };
      panel = window.createWebviewPanel("tirlens.report", "TIRLens", column, {
        enableScripts: true,
        localResourceRoots: [],
      });
      panel.webview.onDidReceiveMessage((message: { line: number }) => reveal(uri, message.line));
      panel.onDidDispose(() => this.panels.delete(uri));
      this.panels.set(uri, panel);
    }
    await this.fill(uri);
  }

  dispose(): void {
    this.subscription.dispose();
    for (const panel of this.panels.values()) {
      panel.dispose();
    }
  }

  private async fill(uri: string): Promise<void> {
    const report = await this.server.run<Report>(SERVER.report, uri, null);
    const panel = this.panels.get(uri);
    if (panel && report) {
      panel.title = report.title;
      panel.webview.html = page(report.html);
    }
  }
}

async function reveal(uri: string, line: number): Promise<void> {
  const editor = await window.showTextDocument(Uri.parse(uri), { viewColumn: ViewColumn.One });
  const start = new Position(line - 1, 0);
  editor.selection = new Selection(start, start);
  editor.revealRange(new Range(start, start), TextEditorRevealType.InCenter);
}
