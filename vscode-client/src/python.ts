import { EventEmitter, extensions, workspace, type Disposable, type Event, type Uri } from "vscode";
import { log, reason } from "./log";

/** The part of the Python extension's public interface that is used here. */
interface PythonApi {
  ready: Promise<void>;
  environments: {
    getActiveEnvironmentPath(resource?: Uri): { path: string };
    resolveEnvironment(
      environment: { path: string },
    ): Promise<{ executable: { uri?: Uri | undefined } } | undefined>;
    onDidChangeActiveEnvironmentPath: Event<unknown>;
  };
}

/** The interpreter that the Python extension has selected, where that extension is installed. */
export class SelectedPython implements Disposable {
  private readonly changed = new EventEmitter<void>();
  private subscription: Disposable | undefined;
  readonly onDidChange = this.changed.event;

  /** Its path for a folder, by default the first one of the window. */
  async path(folder = workspace.workspaceFolders?.[0]?.uri): Promise<string | null> {
    try {
      const api = await this.api();
      if (!api) {
        return null;
      }
      const active = api.environments.getActiveEnvironmentPath(folder);
      const resolved = await api.environments.resolveEnvironment(active);
      return resolved?.executable.uri?.fsPath ?? null;
    } catch (error) {
      log.warn(`The Python extension did not name an interpreter: ${reason(error)}`);
      return null;
    }
  }

  dispose(): void {
    this.subscription?.dispose();
    this.changed.dispose();
  }

  private async api(): Promise<PythonApi | null> {
    const extension = extensions.getExtension<PythonApi>("ms-python.python");
    if (!extension) {
      return null;
    }
    const api = await extension.activate();
    await api.ready;
    this.subscription ??= api.environments.onDidChangeActiveEnvironmentPath(() => {
      this.changed.fire();
    });
    return api;
  }
}
