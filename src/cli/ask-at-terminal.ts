import { createInterface } from 'node:readline/promises';

/** Asks a question and waits for a line. Only "y" or "yes" approves; no answer or the end of the input denies. */
export async function askAtTerminal(
  question: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  signal: AbortSignal,
): Promise<boolean> {
  const answer = await readTerminalLine(`${question} [y/N] `, input, output, signal);
  return answer !== undefined && /^y(?:es)?$/i.test(answer.trim());
}

/** Reads a line. Undefined at the end of the input, or if the program is stopped. */
export async function readTerminalLine(
  prompt: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  signal: AbortSignal,
): Promise<string | undefined> {
  // The terminal splits the lines itself, so that Ctrl-C still stops the program.
  const lines = createInterface({ input, output, terminal: false });
  const ended = new AbortController();
  lines.once('close', () => ended.abort());
  try {
    return await lines.question(prompt, { signal: AbortSignal.any([signal, ended.signal]) });
  } catch {
    return undefined;
  } finally {
    lines.close();
  }
}
