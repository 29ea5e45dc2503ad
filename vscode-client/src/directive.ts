const CLOSES: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };
const STRING = /"(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*'/g;

/** What is wrong with the text of a directive as far as its form shows; undefined where nothing is. */
export function directiveProblem(text: string): string | undefined {
  const plain = text.trim().replace(STRING, "0");
  if (plain === "") {
    return "A call or values are needed, such as matmul(4096, 4096, 4096) or M=4096";
  }
  if (/["'\n]/.test(plain)) {
    return "A quotation mark is not closed";
  }
  const open: string[] = [];
  for (const character of plain) {
    const closing = CLOSES[character];
    if (closing !== undefined) {
      open.push(closing);
    } else if (")]}".includes(character) && open.pop() !== character) {
      return `"${character}" closes nothing`;
    }
  }
  const missing = open.pop();
  if (missing !== undefined) {
    return `"${missing}" is missing`;
  }
  const isCall = /^[A-Za-z_][\w.]*\s*\(.*\)$/.test(plain);
  const areValues = /^[A-Za-z_]\w*\s*=[^=]/.test(plain);
  return isCall || areValues ? undefined : "Expected a call such as matmul(4096, 4096) or values such as M=4096";
}
