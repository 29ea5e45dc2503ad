import { basename } from "node:path";
import {
  CodeLens,
  EventEmitter,
  languages,
  OverviewRulerLane,
  ProgressLocation,
  Range,
  TextEditorRevealType,
  TextEditorSelectionChangeKind,
  ThemeColor,
  Uri,
  ViewColumn,
  window,
  workspace,
  type CodeLensProvider,
  type Disposable,
  type TextDocument,
  type TextDocumentContentProvider,
  type TextEditor,
} from "vscode";
import { editorsOf, place, serverLine, uriOf } from "./cells";
import type { Server } from "./client";
import {
  LANGUAGES,
  linesAcross,
  linesOf,
  linesToShow,
  linkedText,
  withoutText,
  resources,
  type LanguageId,
  type LinkedText,
} from "./generatedText";
import { SERVER, type GeneratedCode, type GeneratedKernel } from "./protocol";
import { INSTALL_TOOLCHAIN, TOOLCHAIN_TITLE } from "./toolchain";

const SCHEME = "tirlens-code";

const CHOICES: { label: string; language: LanguageId; withMachineCode: boolean }[] = [
  { label: "CUDA source and machine code", language: "cuda", withMachineCode: true },
  { label: "CUDA source", language: "cuda", withMachineCode: false },
  { label: "Lowered IR", language: "tir", withMachineCode: false },
];

/** The column after another. */
const AFTER = new Map<ViewColumn | undefined, ViewColumn>([
  [ViewColumn.One, ViewColumn.Two],
  [ViewColumn.Two, ViewColumn.Three],
  [ViewColumn.Three, ViewColumn.Four],
]);

/** What is on show of a kernel of a source. */
interface Shown extends LinkedText {
  source: string;
  kernel: string;
  /** Whether it is the place of machine code whose tools are missing. */
  lacksTools: boolean;
}

/** The code that the framework makes of kernels, as read-only documents linked to the source. */
export class GeneratedTexts implements Disposable, TextDocumentContentProvider, CodeLensProvider {
  private readonly shown = new Map<string, Shown>();
  private readonly changed = new EventEmitter<Uri>();
  private readonly lensesChanged = new EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  readonly onDidChangeCodeLenses = this.lensesChanged.event;
  private readonly linked = window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new ThemeColor("editor.rangeHighlightBackground"),
    overviewRulerColor: new ThemeColor("editorOverviewRuler.rangeHighlightForeground"),
    overviewRulerLane: OverviewRulerLane.Center,
  });
  private readonly subscriptions: { dispose(): unknown }[];

  constructor(private readonly server: Server) {
    this.subscriptions = [
      this.changed,
      this.lensesChanged,
      this.linked,
      workspace.registerTextDocumentContentProvider(SCHEME, this),
      languages.registerCodeLensProvider({ scheme: SCHEME }, this),
      workspace.onDidChangeTextDocument(({ document }) => {
        // What is replaced has lost its marks, and its new lines are there only now.
        const shown = this.shown.get(document.uri.toString());
        const origin = shown && editorsOf(shown.source)[0];
        if (origin) {
          this.link(origin);
        }
      }),
      workspace.onDidCloseTextDocument(({ uri }) => this.shown.delete(uri.toString())),
      window.onDidChangeTextEditorSelection(({ textEditor, kind }) => {
        // What this extension selects must not answer itself.
        if (kind !== TextEditorSelectionChangeKind.Command) {
          this.link(textEditor);
        }
      }),
      server.onStatus((status) => {
        if (status.state === "ready" && status.uri !== null) {
          void this.refresh(status.uri);
        }
      }),
    ];
  }

  provideTextDocumentContent(uri: Uri): string {
    return this.shown.get(uri.toString())?.text ?? "";
  }

  /** The offer to install what machine code needs. */
  provideCodeLenses({ uri }: TextDocument): CodeLens[] {
    const shown = this.shown.get(uri.toString());
    return shown?.lacksTools && workspace.isTrusted
      ? [new CodeLens(new Range(0, 0, 0, 0), { title: TOOLCHAIN_TITLE, command: INSTALL_TOOLCHAIN, arguments: [shown.source] })]
      : [];
  }

  dispose(): void {
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
  }

  /** Asks for a language and shows the code of the kernel at the cursor, or of the named one. */
  async show(source: string, kernel?: string): Promise<void> {
    const chosen = await window.showQuickPick(CHOICES, { title: "TIRLens: generated code" });
    if (!chosen) {
      return;
    }
    const { language, withMachineCode } = chosen;
    const { label } = LANGUAGES[language];
    const target = kernel ?? lineOf(source);
    const title = `TIRLens: generating the ${label} of ${basename(Uri.parse(source).path)}`;
    const options = { location: ProgressLocation.Notification, title };
    const answer = await window.withProgress(options, () => this.generate(source, target, language));
    const found = answer?.kernels[0];
    const text = found && linkedText(found, language);
    if (!text) {
      const reason = found?.error ?? answer?.problems[0] ?? "the file is not analysed yet";
      throw new Error(`no ${label}: ${reason}`);
    }
    const shown = { ...text, source, kernel: found.kernel, lacksTools: false };
    const { viewColumn } = await this.open(shown, ViewColumn.Beside);
    if (!withMachineCode) {
      return;
    }
    const column = AFTER.get(viewColumn) ?? ViewColumn.Beside;
    const missing = answer.missing_tools;
    if (missing.length > 0) {
      const reason = withoutText(`${missing.join(" and ")} not found`);
      await this.open({ ...shown, ...reason, lacksTools: true }, column);
    } else {
      await this.compile(shown, column);
    }
  }

  /** Shows the machine code where its tools were missing. */
  async toolsInstalled(): Promise<void> {
    for (const shown of [...this.shown.values()].filter(({ lacksTools }) => lacksTools)) {
      await this.compile(shown, ViewColumn.Beside);
    }
  }

  /** Opens the machine code of a kernel in a column, and says above the CUDA source what ptxas reports. */
  private async compile({ source, kernel }: Shown, column: ViewColumn): Promise<void> {
    const title = `TIRLens: compiling ${kernel}`;
    const options = { location: ProgressLocation.Window, title };
    const answer = await window.withProgress(options, () => this.generate(source, kernel, "sass"));
    const found = answer?.kernels[0];
    if (!found) {
      return;
    }
    this.replaceCuda(source, found);
    const text = linkedText(found, "sass") ?? withoutText(found.error ?? found.resources_error ?? "");
    await this.open({ ...text, source, kernel, lacksTools: false }, column);
  }

  /** Opens a text, in the editor that it has already if there is one. */
  private async open(shown: Shown, viewColumn: ViewColumn): Promise<TextEditor> {
    const uri = uriOfText(shown);
    this.put(uri, shown);
    const document = await workspace.openTextDocument(uri);
    const editor = await window.showTextDocument(document, {
      viewColumn: editorsOf(uri.toString())[0]?.viewColumn ?? viewColumn,
      preserveFocus: true,
      preview: false,
    });
    const origin = editorsOf(shown.source)[0];
    if (origin) {
      this.link(origin);
    }
    return editor;
  }

  private put(uri: Uri, shown: Shown): void {
    this.shown.set(uri.toString(), shown);
    this.changed.fire(uri);
    this.lensesChanged.fire();
  }

  /** The CUDA source as it was compiled, if it is still open. */
  private replaceCuda(source: string, found: GeneratedKernel): void {
    const text = linkedText(found, "cuda", resources(found));
    const uri = uriOfText({ source, kernel: found.kernel, language: "cuda" });
    const cuda = this.shown.get(uri.toString());
    if (text && cuda) {
      this.put(uri, { ...cuda, ...text });
    }
  }

  private generate(
    source: string,
    target: string | number | null,
    language: LanguageId,
  ): Promise<GeneratedCode | null | undefined> {
    return this.server.run<GeneratedCode | null>(SERVER.generatedCode, source, target, language);
  }

  /** Generates again what is open of a source that was analysed. */
  private async refresh(source: string): Promise<void> {
    const open = [...this.shown.values()].filter((shown) => shown.source === source);
    // What waits for no compiler comes first.
    const order = (shown: Shown): number => Number(shown.language === "sass");
    for (const shown of open.sort((left, right) => order(left) - order(right))) {
      const { kernel, language } = shown;
      const found = (await this.generate(source, kernel, language))?.kernels[0];
      const text = found && linkedText(found, language);
      const uri = uriOfText(shown);
      if (!text || !this.shown.has(uri.toString())) {
        continue;
      }
      this.put(uri, { ...shown, ...text, lacksTools: false });
      if (language === "sass") {
        this.replaceCuda(source, found);
      }
    }
  }

  /** Marks the lines that belong to the selected one, in the text and in what is made of it. */
  private link(editor: TextEditor): void {
    const uri = uriOf(editor.document);
    const line = serverLine(editor.document, editor.selection.active.line + 1);
    const own = this.shown.get(uri);
    const source = own?.source ?? uri;
    const sourceLine = own ? (own.lines[line - 1] ?? 0) : line;
    let isLinked = false;
    for (const [other, text] of this.shown) {
      if (text.source !== source) {
        continue;
      }
      const across = own !== undefined && other !== uri && text.kernel === own.kernel;
      const lines = across ? linesAcross(own, line, text) : linesOf(text, sourceLine);
      isLinked ||= lines.length > 0;
      for (const one of editorsOf(other)) {
        this.mark(one, lines, other === uri ? [] : linesToShow(text, lines));
      }
    }
    const target = sourceLine ? place(source, sourceLine) : undefined;
    for (const one of isLinked || own ? editorsOf(source) : []) {
      const isTarget = isLinked && target?.uri.toString() === one.document.uri.toString();
      const marked = isTarget ? [target.line] : [];
      this.mark(one, marked, own ? marked : []);
    }
  }

  /** Marks lines of an editor, and scrolls to the first of `shown` if none of them is in sight. */
  private mark(editor: TextEditor, lines: readonly number[], shown: readonly number[]): void {
    editor.setDecorations(this.linked, lines.map(rangeOf));
    const ranges = shown.map(rangeOf);
    const first = ranges[0];
    if (first && !editor.visibleRanges.some((range) => ranges.some((one) => range.contains(one)))) {
      editor.revealRange(first, TextEditorRevealType.InCenter);
    }
  }
}

function rangeOf(line: number): Range {
  return new Range(line - 1, 0, line - 1, 0);
}

/** The document of a text: it is of a source and a kernel. */
function uriOfText({ source, kernel, language }: Pick<Shown, "source" | "kernel" | "language">): Uri {
  const name = basename(Uri.parse(source).path).replace(/\.(py|ipynb)$/, "");
  return Uri.from({
    scheme: SCHEME,
    path: `/${name}.${kernel}.${LANGUAGES[language].extension}`,
    query: source,
  });
}

/** The server's line of the cursor in a document, from 1; null where it is in no editor. */
function lineOf(uri: string): number | null {
  const active = window.activeTextEditor;
  const editors = editorsOf(uri);
  const editor = active && editors.includes(active) ? active : editors[0];
  return editor ? serverLine(editor.document, editor.selection.active.line + 1) : null;
}
