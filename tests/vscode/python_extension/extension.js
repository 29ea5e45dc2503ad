// The environment of a folder is that of `python.defaultInterpreterPath`, as with a fresh real one.

const { EventEmitter, Uri, workspace } = require("vscode");

exports.activate = ({ subscriptions }) => {
  const selected = (resource) => workspace.getConfiguration("python", resource).get("defaultInterpreterPath");
  const changed = new EventEmitter();
  subscriptions.push(
    changed,
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("python.defaultInterpreterPath")) {
        changed.fire({});
      }
    }),
  );
  return {
    ready: Promise.resolve(),
    environments: {
      getActiveEnvironmentPath: (resource) => ({ id: selected(resource), path: selected(resource) }),
      resolveEnvironment: async ({ path }) => ({ executable: { uri: Uri.file(path) } }),
      onDidChangeActiveEnvironmentPath: changed.event,
    },
  };
};
