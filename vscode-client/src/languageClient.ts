import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { Disposable, LogOutputChannel } from "vscode";
import {
  LanguageClient,
  RevealOutputChannelOn,
  State,
  WorkDoneProgress,
  type DynamicFeature,
  type ExecuteCommandRegistrationOptions,
  type LanguageClientOptions,
  type RegistrationData,
  type StaticFeature,
} from "vscode-languageclient/node";
import { CHANGED, STATUS, type InitializationOptions, type Status } from "./protocol";

/** What becomes of a server. */
export interface Events {
  status(status: Status): void;
  figuresChanged(uri: string): void;
  running(): void;
  stopped(): void;
}

/** How a server is started, and what it is told. */
export interface Start {
  command: string;
  args: string[];
  cwd: string;
  documentSelector: { language: string; scheme: string }[];
  outputChannel: LogOutputChannel;
  initializationOptions: InitializationOptions;
  /** Commands that the extension itself provides under the same names as the server. */
  ownCommands: ReadonlySet<string>;
}

/** A client of one server; it is started by the caller. Loaded when the first server is. */
export function makeClient(start: Start, events: Events): LanguageClient {
  const options: LanguageClientOptions = {
    documentSelector: start.documentSelector,
    outputChannel: start.outputChannel,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    stdioOptions: { stdout: forward, stderr: forward },
    diagnosticCollectionName: "tirlens",
    initializationOptions: start.initializationOptions,
  };
  const { command, args, cwd } = start;
  const client = new Client({ command, args, options: { cwd } }, options, start.ownCommands);
  client.onNotification(STATUS, (status: Status) => {
    events.status(status);
  });
  client.onNotification(CHANGED, ({ uri }: { uri: string }) => {
    events.figuresChanged(uri);
  });
  client.onDidChangeState(({ newState }) => {
    if (newState === State.Stopped) {
      events.stopped();
    } else if (newState === State.Running) {
      events.running();
    }
  });
  return client;
}

/** Receives the messages of a progress that this client has begun. */
export function onReport(
  client: LanguageClient,
  token: string,
  report: (message: string) => void,
): Disposable {
  return client.onProgress(WorkDoneProgress.type, token, (value) => {
    if (value.message) {
      report(value.message);
    }
  });
}

/** Leaves alone the commands that the extension itself provides under the same names. */
class Client extends LanguageClient {
  constructor(
    executable: { command: string; args: string[]; options: { cwd: string } },
    options: LanguageClientOptions,
    private readonly ownCommands: ReadonlySet<string>,
  ) {
    super("tirlens", "TIRLens", executable, options);
  }

  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    if (isExecuteCommand(feature)) {
      const register = feature.register.bind(feature);
      feature.register = (data): void => {
        const names = data.registerOptions.commands.filter((name) => !this.ownCommands.has(name));
        register({ ...data, registerOptions: { ...data.registerOptions, commands: names } });
      };
    }
    super.registerFeature(feature);
  }
}

/** What the server writes on standard error is its log, not a list of errors. */
function forward(stream: Readable, channel: LogOutputChannel): void {
  createInterface(stream).on("line", (line) => {
    channel.info(line);
  });
}

interface ExecuteCommandFeature extends DynamicFeature<ExecuteCommandRegistrationOptions> {
  register(data: RegistrationData<ExecuteCommandRegistrationOptions>): void;
}

function isExecuteCommand(
  feature: StaticFeature | DynamicFeature<unknown>,
): feature is ExecuteCommandFeature {
  return "registrationType" in feature && feature.registrationType.method === "workspace/executeCommand";
}
