import { basename } from "node:path";
import {
  languages,
  Position,
  Range,
  Uri,
  ViewColumn,
  window,
  workspace,
  WorkspaceEdit,
  type Disposable,
  type TextEditor,
  type WebviewPanel,
} from "vscode";
import { editorsOf, goTo, place, serverLine, uriOf } from "./cells";
import { SELECTOR, type Server } from "./client";
import { log, reason } from "./log";
import { page } from "./page";
import type { FromPage, ToPage } from "./page/messages";
import type { Page } from "./page/schema";
import { SERVER, type AdviceEdit, type Report } from "./protocol";

const SCRIPT = "report.js";
const STYLE = "report.css";
/**
 * VS Code looks four times a second whether a panel has the focus. What it finds about the click on
 * a line may arrive when the editor already has it, on a busy machine seconds later, and then makes
 * the panel the active one. Where the user has pressed in the panel since, that is wanted.
 */
const LATE_FOCUS_MS = 5000;
/** How long after a change of the text the page says so. */
const STALE_DELAY_MS = 300;

/** The report beside the editor: one panel, which follows the active editor. */
export class Reports implements Disposable {
  private panel: WebviewPanel | undefined;
  private uri = "";
  private kernel: number | null = null;
  private comparison = "";
  private request = 0;
  private staleTimer: NodeJS.Timeout | undefined;
  private lateFocus: Disposable | undefined;
  private readonly subscriptions: Disposable[];

  /** @param folder where the script of the page is */
  constructor(
    private readonly server: Server,
    private readonly folder: Uri,
  ) {
    this.subscriptions = [
      server.onStatus((status) => {
        if (status.state === "ready" && status.uri === this.uri) {
          void this.fill();
        }
      }),
      // The lowering and the analysis of a baseline end later.
      server.onDidChangeFigures((uri) => {
        if (uri === this.uri && this.panel) {
          void this.fill();
        }
      }),
      window.onDidChangeActiveTextEditor((editor) => {
        this.follow(editor);
      }),
      // Another language makes another document of the text in the same editor.
      workspace.onDidOpenTextDocument((document) => {
        if (document === window.activeTextEditor?.document) {
          this.follow(window.activeTextEditor);
        }
      }),
      window.onDidChangeTextEditorSelection(({ textEditor, selections }) => {
        const line = selections[0]?.active.line;
        if (line !== undefined && uriOf(textEditor.document) === this.uri) {
          this.post({ type: "line", line: serverLine(textEditor.document, line + 1) });
        }
      }),
      workspace.onDidChangeTextDocument(({ document }) => {
        if (this.panel && uriOf(document) === this.uri) {
          clearTimeout(this.staleTimer);
          this.staleTimer = setTimeout(() => void this.fill(), STALE_DELAY_MS);
        }
      }),
    ];
  }

  /** Shows the report of a document beside its times on another device. */
  async compare(uri: string, device: string): Promise<void> {
    this.turnTo(uri);
    this.comparison = device;
    await this.show(uri);
  }

  /** Shows the report of a document. */
  async show(uri: string): Promise<void> {
    if (this.panel) {
      this.panel.reveal(undefined, true);
      this.turnTo(uri);
      await this.fill();
      return;
    }
    const column = { viewColumn: ViewColumn.Beside, preserveFocus: true };
    const panel = window.createWebviewPanel("tirlens.report", "TIRLens", column, {
      enableScripts: true,
      localResourceRoots: [this.folder],
    });
    this.panel = panel;
    this.turnTo(uri);
    panel.webview.onDidReceiveMessage((message: FromPage) => {
      this.handle(message).catch((error: unknown) => {
        log.error(`report: ${reason(error)}`);
        void window.showErrorMessage(`TIRLens: ${reason(error)}`);
      });
    });
    panel.onDidDispose(() => {
      this.panel = undefined;
    });
    const address = (name: string): string =>
      panel.webview.asWebviewUri(Uri.joinPath(this.folder, name)).toString();
    panel.webview.html = page(address(SCRIPT), address(STYLE));
  }

  dispose(): void {
    clearTimeout(this.staleTimer);
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
    this.panel?.dispose();
  }

  private follow(editor: TextEditor | undefined): void {
    const uri = editor && uriOf(editor.document);
    if (this.panel && editor && uri !== this.uri && languages.match(SELECTOR, editor.document) > 0) {
      this.turnTo(uri ?? "");
      void this.fill();
    }
  }

  private turnTo(uri: string): void {
    if (uri !== this.uri) {
      this.uri = uri;
      this.kernel = null;
      this.comparison = "";
    }
    if (this.panel) {
      this.panel.title = `TIRLens: ${basename(Uri.parse(uri).path)}`;
    }
  }

  private post(message: ToPage): void {
    void this.panel?.webview.postMessage(message);
  }

  private async fill(): Promise<void> {
    this.request += 1;
    const { request, uri } = this;
    const wanted = { kernel: this.kernel, comparison: this.comparison };
    let data: Page | undefined;
    try {
      data = await this.server.run<Page>(SERVER.reportPage, uri, wanted);
    } catch (error) {
      log.error(`report: ${reason(error)}`);
    }
    // What has been asked for since then comes later.
    if (request !== this.request) {
      return;
    }
    if (data) {
      this.post({ type: "data", data });
    } else {
      this.post({ type: "empty", message: `${basename(Uri.parse(uri).path)} is not analysed yet.` });
    }
  }

  private async handle(message: FromPage): Promise<void> {
    switch (message.type) {
      case "ready":
        await this.fill();
        break;
      case "pressed":
        this.lateFocus?.dispose();
        break;
      case "reveal":
        await this.reveal(message.line);
        break;
      case "apply":
        await this.apply(message.rule, message.line);
        break;
      case "device":
        await this.server.run(SERVER.setDevice, this.uri, message.id || null);
        break;
      case "compare":
        this.comparison = message.id;
        await this.fill();
        break;
      case "kernel":
        this.kernel = message.index;
        await this.fill();
        break;
      case "page": {
        const report = await this.server.run<Report>(SERVER.report, this.uri, null);
        if (report) {
          await save(this.uri, `${report.title}.html`, Buffer.from(report.html, "utf8"));
        }
        break;
      }
      case "save":
        await save(this.uri, message.name, Buffer.from(message.base64, "base64"));
        break;
    }
  }

  private async reveal(line: number): Promise<void> {
    const { uri, line: row } = place(this.uri, line);
    await this.goTo(uri, new Position(row - 1, 0));
  }

  /** Places the cursor in the text, which then has the focus. */
  private async goTo(uri: Uri, at: Position): Promise<void> {
    const column = columnOf(this.uri);
    // Before the first placing: what is found while it is under way counts, too.
    this.lateFocus?.dispose();
    const late = this.panel?.onDidChangeViewState(({ webviewPanel }) => {
      if (webviewPanel.active) {
        void goTo(uri, at, column);
      }
    });
    this.lateFocus = late;
    setTimeout(() => {
      late?.dispose();
    }, LATE_FOCUS_MS);
    await goTo(uri, at, column);
    if (this.panel?.active) {
      await goTo(uri, at, column);
    }
  }

  /** Writes an advice into the text, which the user can undo. */
  private async apply(rule: string, line: number): Promise<void> {
    const edit = await this.server.run<AdviceEdit | null>(SERVER.adviceEdit, this.uri, rule, line);
    const document = edit ? await workspace.openTextDocument(Uri.parse(edit.uri)) : undefined;
    if (!edit || edit.version !== document?.version) {
      void window.showInformationMessage("TIRLens: these lines have changed. Save the file first.");
      return;
    }
    const [start, end] = edit.range;
    const changes = new WorkspaceEdit();
    changes.replace(document.uri, new Range(...start, ...end), edit.newText);
    await workspace.applyEdit(changes);
    await this.goTo(document.uri, new Position(...start));
  }
}

function columnOf(uri: string): ViewColumn {
  return editorsOf(uri)[0]?.viewColumn ?? ViewColumn.One;
}

/** Asks where to, and writes a file. */
async function save(uri: string, name: string, content: Uint8Array): Promise<void> {
  const defaultUri = Uri.joinPath(Uri.parse(uri), "..", name);
  const target = await window.showSaveDialog({ defaultUri, title: "TIRLens: save the report" });
  if (target) {
    await workspace.fs.writeFile(target, content);
  }
}
