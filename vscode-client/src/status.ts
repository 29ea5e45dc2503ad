import {
  EventEmitter,
  MarkdownString,
  StatusBarAlignment,
  ThemeColor,
  window,
  workspace,
  type Disposable,
  type TextDocument,
  type TextEditor,
} from "vscode";
import { uriOf } from "./cells";
import { mentionsFramework, notAnalysed, type Condition, type Server } from "./client";
import type { Status } from "./protocol";

/** The item in the status bar: device, what is going on, interpreter; a click opens the menu. */
export class StatusItem implements Disposable {
  private readonly item = window.createStatusBarItem("status", StatusBarAlignment.Right, 90);
  private readonly byDocument = new Map<string, Status>();
  private general: Status | undefined;
  private last: TextDocument | undefined;
  private readonly changed = new EventEmitter<void>();
  private readonly subscriptions: { dispose(): unknown }[];

  /** After the item displays something else. */
  readonly onDidChange = this.changed.event;

  constructor(private readonly server: Server) {
    this.item.name = "TIRLens";
    this.item.command = "tirlens.menu";
    this.subscriptions = [
      this.item,
      this.changed,
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
      // Trust is granted in an editor that has no text.
      workspace.onDidGrantWorkspaceTrust(() => {
        this.show();
      }),
      workspace.onDidCloseTextDocument(({ uri }) => {
        this.byDocument.delete(uri.toString());
        this.show();
      }),
    ];
    this.show();
  }

  /** What the server last said about the document, or about itself. */
  of(editor: TextEditor | undefined): Status | undefined {
    return this.ofDocument(editor && uriOf(editor.document));
  }

  /** What the item displays: of the active file, or of the last one beside a panel. */
  displayed(): Status | undefined {
    const subject = this.subject();
    return this.ofDocument(subject && uriOf(subject));
  }

  dispose(): void {
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
  }

  private ofDocument(uri: string | undefined): Status | undefined {
    return (uri === undefined ? undefined : this.byDocument.get(uri)) ?? this.general;
  }

  /** The file that the item is about: the active one, else the last one that is still open. */
  private subject(): TextDocument | undefined {
    const active = window.activeTextEditor?.document;
    if (active) {
      this.last = mentionsFramework(active) ? active : undefined;
    }
    return this.last?.isClosed === false ? this.last : undefined;
  }

  private show(): void {
    this.display();
    this.changed.fire();
  }

  private display(): void {
    const active = window.activeTextEditor?.document;
    const why = active && notAnalysed(active);
    if (why !== undefined) {
      this.item.text = "$(circle-slash) TIRLens: not analysed";
      this.item.tooltip = why;
      this.item.accessibilityInformation = { label: `TIRLens: not analysed. ${why}`, role: "button" };
      this.item.backgroundColor = undefined;
      this.item.show();
      return;
    }
    const document = this.subject();
    if (!document) {
      this.item.hide();
      return;
    }
    const status = this.ofDocument(uriOf(document));
    const { icon, state, alarm } = face(this.server.condition, status);
    const text = explanation(this.server.condition, status);
    this.item.text = `$(${icon}) TIRLens${state ? `: ${state}` : ""}`;
    this.item.tooltip = markdown(text);
    // A screen reader is told what the icon and the colour say.
    const spoken = [state || "waiting", ...text].join(". ");
    this.item.accessibilityInformation = { label: `TIRLens: ${spoken}`, role: "button" };
    this.item.backgroundColor = alarm
      ? new ThemeColor("statusBarItem.warningBackground")
      : undefined;
    this.item.show();
  }
}

interface Face {
  icon: string;
  state: string;
  alarm: boolean;
}

function face(condition: Condition, status: Status | undefined): Face {
  switch (condition.kind) {
    case "missing":
      return { icon: "warning", state: "no Python", alarm: true };
    case "failed":
      return { icon: "error", state: "stopped", alarm: true };
    case "stopped":
    case "starting":
      return { icon: "loading~spin", state: "starting", alarm: false };
    case "running":
      break;
  }
  const device = status?.device ?? "";
  switch (status?.state) {
    case "analyzing":
      return { icon: "loading~spin", state: device, alarm: false };
    case "untrusted":
      return { icon: "shield", state: "untrusted", alarm: true };
    case "no-framework":
      return { icon: "warning", state: "no tvm, tilelang or tvm_tirx", alarm: true };
    case "error":
      return { icon: "warning", state: device || "error", alarm: false };
    default:
      return { icon: "dashboard", state: device, alarm: false };
  }
}

function explanation(condition: Condition, status: Status | undefined): string[] {
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
  return lines;
}

function markdown(lines: readonly string[]): MarkdownString {
  const text = new MarkdownString();
  lines.forEach((line, index) => {
    text.appendText(line);
    if (index < lines.length - 1) {
      text.appendMarkdown("  \n");
    }
  });
  return text;
}
