/** Offset of a line and column, both from 1. A position past the end gives the end. */
export function offsetOf(text: string, line: number, column = 1): number {
  let start = 0;
  for (let passed = 1; passed < line; passed++) {
    const next = text.indexOf('\n', start);
    if (next === -1) return text.length;
    start = next + 1;
  }
  const end = text.indexOf('\n', start);
  return Math.min(start + Math.max(0, column - 1), end === -1 ? text.length : end);
}
