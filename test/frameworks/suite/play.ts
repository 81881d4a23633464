/** Starts the processes of the suite and listens to them. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Ran } from './harness.ts';
import { packageArguments } from './package-arguments.ts';
import type { Line, Part } from './part.ts';
import { playPart } from './part.ts';

export type Played = {
  /** What killed the process, if something did. */
  readonly signal: NodeJS.Signals | null;
  /** For each part: whether its body hung, and how its run ended. */
  readonly parts: readonly { readonly hung: boolean; readonly ran: Ran | undefined }[];
};

/** Plays parts in one other process, which loads the framework once. Some die there, as in a power cut. */
export async function play(parts: readonly Part[]): Promise<Played> {
  const child = spawn(
    process.execPath,
    [...packageArguments(), join(import.meta.dirname, 'child.ts'), JSON.stringify(parts)],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const lines: Line[] = [];
  let errors = '';
  child.stderr.on('data', (data: Buffer) => (errors += data.toString()));
  const ended = new Promise<NodeJS.Signals | null>((resolve) =>
    child.once('close', (_, signal) => resolve(signal)),
  );
  for await (const text of createInterface({ input: child.stdout }))
    if (text.startsWith('{')) lines.push(JSON.parse(text) as Line);
  const signal = await ended;
  if (signal === null && child.exitCode !== 0) throw new Error(`The child failed: ${errors}`);
  return {
    signal,
    parts: parts.map((_, index) => {
      const own = lines.filter((line) => line.index === index);
      return { hung: own.some(({ hangs }) => hangs === true), ran: own.find(({ ran }) => ran)?.ran };
    }),
  };
}

/** Plays a part here: after another process, this is another one, and it has the framework loaded already. */
export async function playHere(part: Part): Promise<Ran | undefined> {
  let ended: Ran | undefined;
  await playPart(part, ({ ran }) => (ended ??= ran));
  return ended;
}
