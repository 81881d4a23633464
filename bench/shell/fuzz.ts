/** Runs `npm run fuzz -- --shell`: generated command lines in real shells, compared with the reader of command lines. */
import { parseArgs } from 'node:util';
import { readCommandText } from '../../packages/quittance/src/base/command-text.ts';
import { createProgress } from '../progress.ts';
import { printTable } from '../table.ts';
import { shellLines } from './lines.ts';
import { findShell, openRoom, shells, shrink, type Miss, type Shell } from './run-line.ts';

/** Two rooms for each core of a small machine: most of the time is spent in child processes. */
const roomsAtOnce = 4;
const mostShown = 10;

type Counts = { lines: number; readable: number; judged: number; ran: number; misses: number };

export async function fuzzShells(): Promise<void> {
  const { values } = parseArgs({
    options: {
      shell: { type: 'boolean' },
      lines: { type: 'string', default: '20000' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31) + 1) },
    },
  });
  const lines = wholeNumber('lines', values.lines);
  const seed = wholeNumber('seed', values.seed);
  const found = shells.filter((shell) => shell.name === 'bash' || findShell(shell) !== undefined);
  let stopped = false;
  // npm may pass the signal on a second time.
  process.on('SIGINT', () => (stopped = true));
  const rows: (readonly [Shell, Counts])[] = [];
  let shown = 0;
  for (const shell of found) {
    const counts: Counts = { lines: 0, readable: 0, judged: 0, ran: 0, misses: 0 };
    rows.push([shell, counts]);
    const source = shellLines(seed);
    const progress = createProgress(`${shell.name}, seed ${seed}`, lines);
    await Promise.all(
      Array.from({ length: roomsAtOnce }, async () => {
        const room = openRoom(shell, readCommandText);
        try {
          while (counts.lines < lines && !stopped) {
            counts.lines++;
            const judged = await room.judge(source.next().value);
            progress.step(1);
            if (judged === 'unreadable') continue;
            counts.readable++;
            if (judged === 'not judged') continue;
            counts.judged++;
            if (judged !== 'ran nothing') counts.ran++;
            if (typeof judged !== 'object') continue;
            counts.misses++;
            if (shown++ < mostShown) print(await shrink(room, judged), judged);
          }
        } finally {
          room.close();
        }
      }),
    );
    progress.done();
    if (stopped) break;
  }
  printTable(
    ['shell', 'lines', 'readable', 'judged', 'ran a program', 'misses'],
    rows.map(([shell, { lines: made, readable, judged, ran, misses }]) =>
      [shell.name, made, readable, judged, ran, misses].map(String),
    ),
  );
  const sum = (pick: (counts: Counts) => number): number =>
    rows.reduce((total, [, counts]) => total + pick(counts), 0);
  const misses = sum((counts) => counts.misses);
  const share =
    sum(({ readable }) => readable) /
    Math.max(
      1,
      sum((counts) => counts.lines),
    );
  process.stdout.write(
    `${JSON.stringify({
      fuzz: 'shell',
      seed,
      shells: rows.map(([{ name }]) => name),
      lines: sum((counts) => counts.lines),
      readableShare: Number(share.toFixed(3)),
      judged: sum(({ judged }) => judged),
      misses,
      stopped,
    })}\n`,
  );
  process.exitCode = misses > 0 ? 1 : 0;
}

function print(smallest: Miss, miss: Miss): void {
  const { line, shell, did, said } = smallest;
  const commands = said.commands.map(({ words, files }) => ({
    words: words.map(({ text }) => text),
    files: files.map(({ word, written }) => `${written ? '>' : '<'} ${word.text}`),
  }));
  process.stderr.write(
    `\nThe reader missed something in ${shell}.\n` +
      `  line:        ${JSON.stringify(line)}\n  shrunk from: ${JSON.stringify(miss.line)}\n` +
      `  the shell:   ${did.join('; ')}\n  the reader:  ${JSON.stringify(commands)}\n`,
  );
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  process.stderr.write(`--${name} takes a whole number above 0, e.g. --${name} 1000.\n`);
  process.exit(2);
}
