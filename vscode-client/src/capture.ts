import { ProcessExecution, Task, TaskRevealKind, tasks, window, workspace } from "vscode";
import type { Resolved } from "./resolve";
import { words } from "./words";

let last = "python bench.py";

/** Asks for a command and runs `tirlens capture` with it in a terminal; trusted workspaces only. */
export async function captureCalls(server: Resolved, interpreter: string | null): Promise<void> {
  const active = window.activeTextEditor?.document.uri;
  const folder = (active && workspace.getWorkspaceFolder(active)) ?? workspace.workspaceFolders?.[0];
  if (!workspace.isTrusted || !folder) {
    void window.showWarningMessage("TIRLens: capturing runs your program, and needs a trusted folder.");
    return;
  }
  const typed = await window.showInputBox({
    title: "TIRLens: record the kernels that this command launches, without a GPU",
    value: last,
    placeHolder: "python bench.py, or pytest benchmarks -k gemm",
    prompt: `It runs in ${folder.name} and writes tirlens-captured.json.`,
  });
  const program = words(typed ?? "");
  if (program.length === 0) {
    return;
  }
  last = typed ?? last;
  const start = server.args.slice(0, server.args.indexOf("serve"));
  const python = interpreter ? ["--python", interpreter] : [];
  const execution = new ProcessExecution(
    server.command,
    [...start, "capture", ...python, "--", ...program],
    { cwd: folder.uri.fsPath },
  );
  const task = new Task({ type: "tirlens", id: "capture" }, folder, "Capture Calls", "TIRLens", execution);
  task.presentationOptions = { reveal: TaskRevealKind.Always, clear: true };
  await tasks.executeTask(task);
}
