/** Starts the processes of the suite and listens to them. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Ran } from './harness.ts';
import { packageArguments } from './package-arguments.ts';
import type { Line, Part } from './part.ts';
import { playPart } from './part.ts';

export type Played = {
  readonly lines: readonly Line[];
  readonly signal: NodeJS.Signals | null;
  readonly ran: Ran | undefined;
};

/** Plays a part to its end. `killWhen` says after which line the process is killed, as by a power cut. */
export async function play(part: Part, killWhen?: (line: Line) => boolean): Promise<Played> {
  const child = spawn(
    process.execPath,
    [...packageArguments(), join(import.meta.dirname, 'child.ts'), JSON.stringify(part)],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const lines: Line[] = [];
  let errors = '';
  child.stderr.on('data', (data: Buffer) => (errors += data.toString()));
  const ended = new Promise<NodeJS.Signals | null>((resolve) =>
    child.once('close', (_, signal) => resolve(signal)),
  );
  for await (const text of createInterface({ input: child.stdout })) {
    if (!text.startsWith('{')) continue;
    const line = JSON.parse(text) as Line;
    lines.push(line);
    if (killWhen?.(line) === true) child.kill('SIGKILL');
  }
  const signal = await ended;
  if (signal === null && child.exitCode !== 0) throw new Error(`The child failed: ${errors}`);
  return { lines, signal, ran: lines.find(({ ran }) => ran !== undefined)?.ran };
}

/** Plays a part here: after another process, this is another one, and it has the framework loaded already. */
export async function playHere(part: Part): Promise<Ran | undefined> {
  const lines: Line[] = [];
  await playPart(part, (line) => lines.push(line));
  return lines.find(({ ran }) => ran !== undefined)?.ran;
}
