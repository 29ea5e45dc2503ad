import {
  MarkdownString,
  StatusBarAlignment,
  ThemeColor,
  window,
  type Disposable,
  type TextEditor,
} from "vscode";
import { mentionsFramework, type Condition, type Server } from "./client";
import type { Status } from "./protocol";

/** The item in the status bar: device, what is going on, interpreter; a click opens the menu. */
export class StatusItem implements Disposable {
  private readonly item = window.createStatusBarItem("status", StatusBarAlignment.Right, 90);
  private readonly byDocument = new Map<string, Status>();
  private general: Status | undefined;
  private readonly subscriptions: { dispose(): unknown }[];

  constructor(private readonly server: Server) {
    this.item.name = "TIRLens";
    this.item.command = "tirlens.menu";
    this.subscriptions = [
      this.item,
      server.onDidChangeCondition(() => {
        this.show();
      }),
      server.onStatus((status) => {
        if (status.uri === null) {
          this.general = status;
        } else {
          this.byDocument.set(status.uri, status);
        }
        this.show();
      }),
      window.onDidChangeActiveTextEditor(() => {
        this.show();
      }),
    ];
    this.show();
  }

  /** What the server last said about the document, or about itself. */
  of(editor: TextEditor | undefined): Status | undefined {
    const uri = editor?.document.uri.toString();
    return (uri === undefined ? undefined : this.byDocument.get(uri)) ?? this.general;
  }

  dispose(): void {
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
  }

  private show(): void {
    const editor = window.activeTextEditor;
    if (!editor || !mentionsFramework(editor.document)) {
      this.item.hide();
      return;
    }
    const status = this.of(editor);
    const { text, alarm } = face(this.server.condition, status);
    this.item.text = text;
    this.item.tooltip = explanation(this.server.condition, status);
    this.item.backgroundColor = alarm
      ? new ThemeColor("statusBarItem.warningBackground")
      : undefined;
    this.item.show();
  }
}

function face(condition: Condition, status: Status | undefined): { text: string; alarm: boolean } {
  switch (condition.kind) {
    case "missing":
      return { text: "$(warning) TIRLens: no Python", alarm: true };
    case "failed":
      return { text: "$(error) TIRLens: stopped", alarm: true };
    case "stopped":
    case "starting":
      return { text: "$(loading~spin) TIRLens", alarm: false };
    case "running":
      break;
  }
  const device = status?.device ? `: ${status.device}` : "";
  switch (status?.state) {
    case "analyzing":
      return { text: `$(loading~spin) TIRLens${device}`, alarm: false };
    case "untrusted":
      return { text: "$(shield) TIRLens: untrusted", alarm: true };
    case "no-framework":
      return { text: "$(warning) TIRLens: no tvm or tilelang", alarm: true };
    case "error":
      return { text: `$(warning) TIRLens${device}`, alarm: false };
    default:
      return { text: `$(dashboard) TIRLens${device}`, alarm: false };
  }
}

function explanation(condition: Condition, status: Status | undefined): MarkdownString {
  const lines: string[] = [];
  switch (condition.kind) {
    case "missing":
      lines.push("Python 3.10 or newer is needed; then choose Restart.", ...condition.unresolved.reasons);
      break;
    case "failed":
      lines.push(condition.message);
      break;
    case "running":
      lines.push(`Server: tirlens ${condition.resolved.version} (${condition.resolved.why})`);
      break;
    default:
      lines.push("Starting the server");
  }
  if (status) {
    if (status.device) {
      lines.push(`Device: ${status.device}`);
    }
    if (status.interpreter) {
      const why = status.interpreter_why ? ` (${status.interpreter_why})` : "";
      lines.push(`Python: ${status.interpreter}${why}`);
    }
    if (status.framework) {
      lines.push(`Framework: ${status.framework}`);
    }
    if (status.message) {
      lines.push(status.message);
    }
  }
  const text = new MarkdownString();
  lines.forEach((line, index) => {
    text.appendText(line);
    if (index < lines.length - 1) {
      text.appendMarkdown("  \n");
    }
  });
  return text;
}
