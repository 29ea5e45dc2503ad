import {
  EventEmitter,
  languages,
  workspace,
  type CancellationToken,
  type Disposable,
  type TextDocument,
} from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { CELL, textsOf } from "./cells";
import { log, reason } from "./log";
import type { ChangedConfiguration, Folder, Status } from "./protocol";
import { SelectedPython } from "./python";
import { candidates, resolve, type Bundled, type Resolved, type Unresolved } from "./resolve";
import { analysisSettings, serverSettings } from "./settings";

/** What the server process is doing, for the status bar. */
export type Condition =
  | { kind: "stopped" }
  | { kind: "starting" }
  | { kind: "running"; resolved: Resolved }
  | { kind: "missing"; unresolved: Unresolved }
  | { kind: "failed"; message: string };

const EXECUTE_COMMAND = "workspace/executeCommand";
const CANCEL_PROGRESS = "window/workDoneProgress/cancel";
const CHANGE_CONFIGURATION = "workspace/didChangeConfiguration";

/** What is analysed: files on disk, files that are not saved yet, and the cells of notebooks. */
export const SELECTOR = [
  { language: "python", scheme: "file" },
  { language: "python", scheme: "untitled" },
  { language: "python", scheme: CELL },
];

/** Filled by the commands module as it registers each. */
export const OWN_COMMANDS = new Set<string>();

/** The one server of this window: resolved, started, told of changes, restarted. */
export class Server implements Disposable {
  private client: LanguageClient | undefined;
  private tokens = 0;
  private current: Condition = { kind: "stopped" };
  private queue: Promise<void> = Promise.resolve();
  private readonly conditionChanged = new EventEmitter<Condition>();
  private readonly statusReceived = new EventEmitter<Status>();
  private readonly figuresChanged = new EventEmitter<string>();
  private readonly selected = new SelectedPython();
  private readonly subscriptions: { dispose(): unknown }[];

  readonly onDidChangeCondition = this.conditionChanged.event;
  readonly onStatus = this.statusReceived.event;
  /** The URI of a file that has other figures: analysed, lowered, or compared with a baseline. */
  readonly onDidChangeFigures = this.figuresChanged.event;

  constructor(
    private readonly folder: string,
    private readonly bundled: Bundled,
  ) {
    this.subscriptions = [
      this.conditionChanged,
      this.statusReceived,
      this.figuresChanged,
      this.selected,
      this.selected.onDidChange(() => void this.reconsider()),
      workspace.onDidGrantWorkspaceTrust(() => void this.reconsider()),
      workspace.onDidChangeWorkspaceFolders(() => void this.reconsider()),
      workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("tirlens")) {
          void this.reconsider();
        }
      }),
    ];
  }

  get condition(): Condition {
    return this.current;
  }

  /** Starts the server unless it runs already. */
  start(): Promise<void> {
    return this.inTurn(async () => {
      if (!this.client) {
        await this.launch(await this.find());
      }
    });
  }

  restart(): Promise<void> {
    return this.inTurn(async () => {
      await this.end();
      await this.launch(await this.find());
    });
  }

  /** Runs a command of the server; undefined where there is no server. */
  async run<Result>(command: string, ...args: unknown[]): Promise<Result | undefined> {
    if (this.current.kind !== "running" || !this.client) {
      return undefined;
    }
    const params = { command, arguments: args };
    return this.client.sendRequest<Result>(EXECUTE_COMMAND, params);
  }

  /** The same for a command whose last argument is a token, by which it reports and is cancelled. */
  async runLong<Result>(
    command: string,
    args: unknown[],
    report: (message: string) => void,
    cancellation: CancellationToken,
  ): Promise<Result | undefined> {
    const client = this.client;
    if (this.current.kind !== "running" || !client) {
      return undefined;
    }
    const { onReport } = await import("./languageClient.js");
    const token = `tirlens-client/${++this.tokens}`;
    const subscriptions = [
      onReport(client, token, report),
      cancellation.onCancellationRequested(() => client.sendNotification(CANCEL_PROGRESS, { token })),
    ];
    try {
      const params = { command, arguments: [...args, token] };
      return await client.sendRequest<Result>(EXECUTE_COMMAND, params);
    } finally {
      subscriptions.forEach((one) => {
        one.dispose();
      });
    }
  }

  stop(): Promise<void> {
    return this.inTurn(async () => {
      await this.end();
      this.become({ kind: "stopped" });
    });
  }

  dispose(): void {
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
  }

  /** After a change of settings, interpreter or trust: restart only if another server is meant. */
  private reconsider(): Promise<void> {
    return this.inTurn(async () => {
      if (this.current.kind === "stopped") {
        return;
      }
      const found = await this.find();
      const running = this.current.kind === "running" ? this.current.resolved : undefined;
      if (running && "command" in found && sameServer(running, found) && this.client) {
        const params: ChangedConfiguration = {
          settings: {
            tirlens: analysisSettings(),
            trusted: workspace.isTrusted,
            interpreter: await this.selected.path(),
            folders: await this.folders(),
          },
        };
        await this.client.sendNotification(CHANGE_CONFIGURATION, params);
      } else {
        await this.end();
        await this.launch(found);
      }
    });
  }

  /** What starts the server; looks at many folders, and starts Pythons. */
  async find(): Promise<Resolved | Unresolved> {
    const { path, interpreter } = serverSettings();
    const tried = candidates({
      serverPath: path,
      serverInterpreter: interpreter,
      selectedPython: await this.selected.path(),
      folders: workspace.workspaceFolders?.map((folder) => folder.uri.fsPath) ?? [],
      trusted: workspace.isTrusted,
      searchPath: process.env.PATH ?? "",
      windows: process.platform === "win32",
    });
    return resolve(tried, this.folder, this.bundled);
  }

  /** What differs between the folders of the window; nothing where there is one. */
  private async folders(): Promise<Folder[]> {
    const folders = workspace.workspaceFolders ?? [];
    if (folders.length < 2) {
      return [];
    }
    return Promise.all(
      folders.map(async ({ uri }) => ({
        path: uri.fsPath,
        interpreter: await this.selected.path(uri),
        settings: analysisSettings(uri),
      })),
    );
  }

  private async launch(found: Resolved | Unresolved): Promise<void> {
    if (!("command" in found)) {
      log.warn(["No Python can run the server.", ...found.reasons].join("\n  "));
      this.become({ kind: "missing", unresolved: found });
      return;
    }
    const { command, args, version, why } = found;
    log.info(`Server ${version}: ${[command, ...args].join(" ")} (${why})`);
    this.become({ kind: "starting" });
    // Loaded now: it is most of the code, and a file without kernels needs none of it.
    const { makeClient } = await import("./languageClient.js");
    const client = makeClient(
      {
        command,
        args,
        // The extension's own folder: `-m` would import from the workspace.
        cwd: this.folder,
        documentSelector: SELECTOR,
        outputChannel: log,
        initializationOptions: {
          trusted: workspace.isTrusted,
          interpreter: await this.selected.path(),
          settings: analysisSettings(),
          folders: await this.folders(),
        },
        ownCommands: OWN_COMMANDS,
      },
      {
        status: (status) => {
          this.statusReceived.fire(status);
        },
        figuresChanged: (uri) => {
          this.figuresChanged.fire(uri);
        },
        running: () => {
          this.become({ kind: "running", resolved: found });
        },
        stopped: () => {
          if (this.client === client) {
            this.become({ kind: "failed", message: "The server has stopped; see the log." });
          }
        },
      },
    );
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      this.client = undefined;
      log.error(`The server did not start: ${reason(error)}`);
      this.become({ kind: "failed", message: `The server did not start: ${reason(error)}` });
    }
  }

  private async end(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    try {
      await client?.dispose();
    } catch (error) {
      log.warn(`The server did not end as asked: ${reason(error)}`);
    }
  }

  private become(condition: Condition): void {
    this.current = condition;
    this.conditionChanged.fire(condition);
  }

  /** Starting, ending and restarting never overlap. */
  private inTurn(step: () => Promise<void>): Promise<void> {
    this.queue = this.queue.then(step, step).catch((error: unknown) => {
      log.error(reason(error));
    });
    return this.queue;
  }
}

/** Whether a document, or its notebook, can have kernels: without one, no process is started. */
export function mentionsFramework(document: TextDocument): boolean {
  return languages.match(SELECTOR, document) > 0 && textsOf(document).some(namesFramework);
}

/** Why a Python document that may have kernels is not analysed; undefined where it is. */
export function notAnalysed(document: TextDocument): string | undefined {
  if (document.languageId !== "python" || languages.match(SELECTOR, document) > 0) {
    return undefined;
  }
  if (!namesFramework(document)) {
    return undefined;
  }
  return `Only files on disk are analysed, not "${document.uri.scheme}:" documents. Save a copy of this one.`;
}

function namesFramework(document: TextDocument): boolean {
  return /\b(tvm|tvm_tirx|tilelang)\b/.test(document.getText());
}

/** Whether one of them can do for the other: which Python runs the bundled server is all the same. */
function sameServer(left: Resolved, right: Resolved): boolean {
  if (left.bundled && right.bundled) {
    return true;
  }
  return left.command === right.command && left.args.join("\0") === right.args.join("\0");
}
