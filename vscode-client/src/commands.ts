import {
  commands,
  env,
  Position,
  Uri,
  version as editorVersion,
  window,
  workspace,
  WorkspaceEdit,
  Range,
  type Disposable,
  type QuickPickItem,
} from "vscode";
import { captureCalls } from "./capture";
import { goTo, place, uriOf } from "./cells";
import { OWN_COMMANDS, type Server } from "./client";
import type { DevicePicker } from "./devices";
import type { GeneratedTexts } from "./generated";
import { log, reason } from "./log";
import { SERVER, type Calls, type LensTarget } from "./protocol";
import type { Reports } from "./report";
import { offerPython } from "./remedies";
import { openSample } from "./samples";
import { directiveProblem } from "./directive";
import type { StatusItem } from "./status";
import { INSTALL_TOOLCHAIN, installToolchain, missingTools, TOOLCHAIN_TITLE } from "./toolchain";

/** Registers every command of the extension. */
export function registerCommands(
  server: Server,
  status: StatusItem,
  reports: Reports,
  generated: GeneratedTexts,
  devices: DevicePicker,
  samples: Uri,
  extensionVersion: string,
): Disposable[] {
  const table: Record<string, (...target: LensTarget) => Promise<void>> = {
    "tirlens.showReport": async (about) => {
      const uri = document(about);
      if (uri && (await running(server))) {
        await reports.show(uri);
      }
    },
    "tirlens.showGeneratedCode": async (about, kernel) => {
      const uri = document(about);
      if (uri && (await running(server))) {
        await generated.show(uri, kernel);
      }
    },
    [INSTALL_TOOLCHAIN]: async (about) => {
      const uri = document(about) ?? null;
      if (workspace.isTrusted && (await running(server)) && (await installToolchain(server, uri))) {
        void window.showInformationMessage("TIRLens: NVIDIA's compiler is installed.");
        await generated.toolsInstalled();
      }
    },
    "tirlens.chooseDevice": async () => {
      if (await running(server)) {
        await devices.choose({
          current: () => status.displayed()?.device,
          onDidChange: status.onDidChange,
        });
      }
    },
    "tirlens.compareDevice": async (about) => {
      const uri = document(about);
      if (uri && (await running(server))) {
        const other = await devices.pick("TIRLens: compare with which device?");
        if (other !== undefined) {
          await reports.compare(uri, other);
        }
      }
    },
    "tirlens.chooseCall": async (about, kernel) => {
      const uri = document(about);
      if (uri && (await running(server))) {
        await chooseCall(server, uri, kernel ?? null);
      }
    },
    "tirlens.analyze": async (about) => {
      const uri = document(about);
      if (uri && (await running(server))) {
        await server.run(SERVER.reanalyze, uri);
      }
    },
    "tirlens.manageTrust": async () => {
      await commands.executeCommand("workbench.trust.manage");
    },
    "tirlens.openSample": (framework) => openSample(samples, framework),
    "tirlens.restart": async () => {
      await server.restart();
      if (server.condition.kind === "missing") {
        void offerPython(server.condition.unresolved);
      }
    },
    "tirlens.capture": async () => {
      if ((await running(server)) && server.condition.kind === "running") {
        const python = status.of(window.activeTextEditor)?.interpreter ?? null;
        await captureCalls(server.condition.resolved, python);
      }
    },
    "tirlens.showLog": () => {
      log.show(true);
      return Promise.resolve();
    },
    "tirlens.copyDebugInfo": () => copyDebugInformation(server, status, extensionVersion),
    "tirlens.menu": () => menu(server, status),
  };
  return Object.entries(table).map(([name, action]) => {
    OWN_COMMANDS.add(name);
    return commands.registerCommand(name, (...target: LensTarget) =>
      action(...target).catch((error: unknown) => {
        log.error(`${name}: ${reason(error)}`);
        void window.showErrorMessage(`TIRLens: ${reason(error)}`);
      }),
    );
  });
}

const OTHER_ARGUMENTS = "Other arguments...";

async function chooseCall(server: Server, uri: string, kernel: string | null): Promise<void> {
  const calls = await server.run<Calls>(SERVER.calls, uri, kernel);
  if (!calls) {
    return;
  }
  const other: QuickPickItem = { label: `$(edit) ${OTHER_ARGUMENTS}`, alwaysShow: true };
  const items: QuickPickItem[] = calls.choices.map(({ directive, source, current }) => ({
    label: directive,
    description: current ? `${source} (in use)` : source,
  }));
  const title = `TIRLens: arguments of ${calls.kernel}`;
  if (calls.fixed) {
    await showFixed(title, uri, calls.fixed);
    return;
  }
  const { chosen, typed } = await pickOrType([...items, other], title);
  if (!chosen) {
    return;
  }
  const directive = chosen === other ? await ask(title, calls, typed) : chosen.label;
  if (directive) {
    await insertDirective(calls, directive);
    await server.run(SERVER.reanalyze, uri);
  }
}

/** Says that a kernel takes no arguments, and leads to the line that has its shapes. */
async function showFixed(title: string, uri: string, fixed: NonNullable<Calls["fixed"]>): Promise<void> {
  const { uri: target, line } = place(uri, fixed.line);
  const item: QuickPickItem = {
    label: `$(lock) ${fixed.size || "Shapes"}: fixed by the source, line ${line}`,
    detail: "It takes no arguments: change the shapes in the text.",
  };
  if (await window.showQuickPick([item], { title, placeHolder: "There are no arguments to choose" })) {
    await goTo(target, new Position(line - 1, 0));
  }
}

/** Has the user choose an item; `typed` is what stands in the field then. */
function pickOrType(
  items: QuickPickItem[],
  title: string,
): Promise<{ chosen: QuickPickItem | undefined; typed: string }> {
  return new Promise((resolve) => {
    const picker = window.createQuickPick();
    picker.title = title;
    picker.items = items;
    picker.onDidAccept(() => {
      resolve({ chosen: picker.activeItems[0], typed: picker.value });
      picker.hide();
    });
    picker.onDidHide(() => {
      resolve({ chosen: undefined, typed: "" });
      picker.dispose();
    });
    picker.show();
  });
}

function ask(title: string, calls: Calls, typed: string): Thenable<string | undefined> {
  const known = calls.choices.find(({ current }) => current)?.directive ?? calls.choices[0]?.directive;
  const text = typed.trim();
  // Words by which the item itself was found are no beginning of a call.
  const isOfItem = OTHER_ARGUMENTS.toLowerCase().includes(text.toLowerCase());
  const value = isOfItem ? known : text;
  return window.showInputBox({
    title,
    ...(value === undefined ? {} : { value }),
    placeHolder: `${calls.kernel}(4096, 4096, 4096) or M=4096, N=1024`,
    prompt: "A call of the kernel or its factory, or values of its dynamic dimensions",
    validateInput: directiveProblem,
  });
}

/** Writes the directive above the kernel, in place of the one that stands there. */
async function insertDirective(calls: Calls, directive: string): Promise<void> {
  const { line, indentation, replaces } = calls.insert;
  const target = Uri.parse(calls.insert.uri);
  const text = await workspace.openTextDocument(target);
  const edit = new WorkspaceEdit();
  const comment = `${indentation}# tirlens: ${directive}`;
  if (replaces) {
    edit.replace(target, text.lineAt(line).range, comment);
  } else {
    edit.insert(target, new Range(line, 0, line, 0).start, `${comment}\n`);
  }
  await workspace.applyEdit(edit);
}

async function copyDebugInformation(
  server: Server,
  status: StatusItem,
  extensionVersion: string,
): Promise<void> {
  const { condition } = server;
  const own = {
    extension: extensionVersion,
    editor: `${env.appName} ${editorVersion}`,
    platform: `${process.platform} ${process.arch}`,
    trusted: workspace.isTrusted,
    condition,
    status: status.of(window.activeTextEditor) ?? null,
  };
  const told = (await server.run(SERVER.debugInformation)) ?? null;
  await env.clipboard.writeText(JSON.stringify({ ...own, server: told }, null, 2));
  void window.showInformationMessage("TIRLens: debug information copied to the clipboard.");
}

interface MenuItem extends QuickPickItem {
  command: string;
}

async function menu(server: Server, status: StatusItem): Promise<void> {
  const { condition } = server;
  if (condition.kind === "missing") {
    await offerPython(condition.unresolved);
    return;
  }
  const known = status.of(window.activeTextEditor);
  const items: MenuItem[] = [];
  if (condition.kind === "running") {
    const device = known ? { description: known.device } : {};
    items.push(
      { label: "$(graph-scatter) Show report", command: "tirlens.showReport" },
      { label: "$(chip) Choose device", ...device, command: "tirlens.chooseDevice" },
      { label: "$(diff) Compare with another device", command: "tirlens.compareDevice" },
      { label: "$(symbol-parameter) Choose the kernel's arguments", command: "tirlens.chooseCall" },
      { label: "$(refresh) Analyse file", command: "tirlens.analyze" },
    );
  }
  if (condition.kind === "running" && workspace.isTrusted && (await missingTools(server, document(null) ?? null)).length) {
    const description = "for the machine code of kernels";
    items.push({ label: `$(cloud-download) ${TOOLCHAIN_TITLE}`, description, command: INSTALL_TOOLCHAIN });
  }
  if (known?.state === "untrusted") {
    items.unshift({
      label: "$(shield) Manage workspace trust",
      description: "an analysis runs this file",
      command: "tirlens.manageTrust",
    });
  }
  items.push(
    { label: "$(output) Show log", command: "tirlens.showLog" },
    { label: "$(debug-restart) Restart server", command: "tirlens.restart" },
    { label: "$(copy) Copy debug information", command: "tirlens.copyDebugInfo" },
  );
  const placeHolder = known?.message ?? known?.interpreter ?? "";
  const chosen = await window.showQuickPick(items, { title: "TIRLens", placeHolder });
  if (chosen) {
    await commands.executeCommand(chosen.command);
  }
}

/** The document that a command is about: the lens's, else the active editor's. */
function document(uri: unknown): string | undefined {
  const active = window.activeTextEditor;
  return typeof uri === "string" ? uri : active && uriOf(active.document);
}

/** Starts the server where it is not running; false where it cannot. */
async function running(server: Server): Promise<boolean> {
  await server.start();
  if (server.condition.kind === "missing") {
    void offerPython(server.condition.unresolved);
  }
  return server.condition.kind === "running";
}
