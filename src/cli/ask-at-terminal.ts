import { createInterface } from 'node:readline/promises';

/** Asks, and waits for a line. Only a yes in so many letters is one: no answer, or the end of the input, is a no. */
export async function askAtTerminal(
  question: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  signal: AbortSignal,
): Promise<boolean> {
  // Lines as the terminal makes them, so that Ctrl-C stays what it is.
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
