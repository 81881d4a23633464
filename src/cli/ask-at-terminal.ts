import { createInterface } from 'node:readline/promises';

/** Asks a question and waits for a line. Only "y" or "yes" approves; no answer or the end of the input denies. */
export async function askAtTerminal(
  question: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  signal: AbortSignal,
): Promise<boolean> {
  // The terminal splits the lines itself, so that Ctrl-C still stops the program.
  const lines = createInterface({ input, output, terminal: false });
  const ended = new AbortController();
  lines.once('close', () => ended.abort());
  try {
    const answer = await lines.question(`${question} [y/N] `, {
      signal: AbortSignal.any([signal, ended.signal]),
    });
    return /^y(?:es)?$/i.test(answer.trim());
  } catch {
    return false;
  } finally {
    lines.close();
  }
}
