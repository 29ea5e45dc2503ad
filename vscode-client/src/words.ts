const WORD = /"(?<double>[^"]*)"|'(?<single>[^']*)'|(?<bare>\S+)/g;

/** The words of a command line; quotes hold a word together. Knows nothing of VS Code. */
export function words(text: string): string[] {
  return Array.from(text.matchAll(WORD), ({ groups }) =>
    groups === undefined ? "" : Object.values(groups).join(""),
  );
}
