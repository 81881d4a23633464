import { createWriteStream, rmSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { once } from 'node:events';
import type { Head } from 'quittance/internal/ledger/chain';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { checkOutputFile } from '../check-output-file.ts';
import type { CliCommand, Context } from '../command.ts';
import { makes } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { shellWord } from '../find-call.ts';
import { exportLedger } from 'quittance/internal/replay/export-ledger';
import { UsageError } from '../usage-error.ts';
import { terminalId } from '../terminal-text.ts';
import { readHeads } from 'quittance/internal/ledger/reads';

export const exportCommand: CliCommand = {
  name: 'export',
  summary: 'Write the ledger, or some of its sessions, as JSON Lines',
  about: [
    'The first line describes the export and the last line has its totals. Each line between is one entry, exactly as stored. `quittance verify --export` checks such a file without the ledger. Sealed inputs and artifacts are left out.',
  ],
  options: {
    out: { value: 'FILE', help: 'Output file; - for standard output', file: true },
    session: { value: 'ID', help: 'Only this session; can be repeated', multiple: true },
    force: { help: 'Overwrite an existing file' },
  },
  examples: [
    ['quittance export --out ledger.jsonl', 'everything'],
    ['quittance export --session ticket-42 --out ticket-42.jsonl', 'one session'],
    ['quittance export --out - | gzip > ledger.jsonl.gz', 'the whole ledger, compressed'],
  ],
  effect: makes,
  run: (given, context) => {
    const target = given.text('out');
    if (target === undefined)
      throw new UsageError('--out is missing.', [
        'quittance export --out ledger.jsonl',
        'quittance export --out - | gzip > ledger.jsonl.gz',
      ]);
    if (target === '-' && context.out.isTerminal)
      throw new UsageError(
        'An export is for programs: it contains raw tool output, which could control this terminal.',
        ['quittance export --out ledger.jsonl', 'quittance export --out - | less'],
      );
    const overwrite = `quittance export --out ${shellWord(target)} --force`;
    if (target !== '-') checkOutputFile(target, given.has('force') ? undefined : overwrite, given, context);
    return context.withLedger(given, async (ledger, meant) => {
      const wanted = meant.list('session');
      const sessions = wanted.length === 0 ? undefined : await chooseHeads(ledger, wanted);
      return exportTo(target, ledger, sessions, context);
    });
  },
};

/** The current end of each chain: entries appended later are left out. */
export async function chooseHeads(ledger: OpenLedger, wanted: readonly string[]): Promise<readonly Head[]> {
  const heads: Head[] = [];
  for (const sessionId of new Set(wanted)) {
    const [head] = await readHeads(ledger, sessionId);
    if (head === undefined)
      throw new UsageError(
        `There is no session ${JSON.stringify(terminalId(sessionId))}.`,
        ['quittance sessions'],
        exitCodes.bad,
      );
    heads.push(head);
  }
  return heads;
}

export async function exportTo(
  target: string,
  ledger: OpenLedger,
  chosen: readonly Head[] | undefined,
  context: Context,
): Promise<ExitCode> {
  const { signal, err } = context;
  let count = 0;
  const { sessions, entries, text } = await exportLedger(ledger, {
    sessions: chosen,
    toolVersion: context.version,
    signal,
    onEntry() {
      count++;
      progress.step();
    },
  });
  const progress = context.startProgress('export', entries);
  const writing = openTarget(target, context);
  try {
    for await (const piece of text) {
      if (signal.aborted) break;
      await writing.write(piece);
    }
  } catch (error) {
    if (!signal.aborted) {
      await writing.abandon();
      throw error;
    }
  } finally {
    progress.done();
  }
  if (signal.aborted) {
    await writing.abandon();
    await err.say(
      `Stopped after ${count} of ${entries} entries. ${target === '-' ? 'The written part is not a complete export; verify rejects it.' : `No file was left at ${target}.`}`,
    );
    return exitCodes.good;
  }
  await writing.complete();
  const what = `${sessions} ${sessions === 1 ? 'session' : 'sessions'}, ${entries} entries`;
  if (target !== '-')
    await err.say(`${what} in ${target}. To check it: quittance verify --export ${shellWord(target)}`);
  return exitCodes.good;
}

type Writing = {
  readonly write: (text: string) => Promise<void>;
  readonly complete: () => Promise<void>;
  readonly abandon: () => Promise<void>;
};

/** The file gets its name only when it is complete. */
function openTarget(target: string, { out }: Context): Writing {
  if (target === '-') return { write: out.write, complete: nothing, abandon: nothing };
  const draft = `${target}.part`;
  // Made anew: the draft could be a link to another file.
  rmSync(draft, { force: true });
  const stream = createWriteStream(draft, { mode: 0o600, flush: true, flags: 'wx' });
  const ended = finished(stream);
  ended.catch(() => undefined); // the code below reports it
  return {
    async write(text) {
      if (stream.write(text)) return;
      // `once` misses an error raised before this point.
      if (stream.errored !== null) throw stream.errored;
      await once(stream, 'drain');
    },
    async complete() {
      stream.end();
      await ended;
      await rename(draft, target);
    },
    async abandon() {
      stream.destroy();
      await ended.catch(() => undefined);
      await rm(draft, { force: true });
    },
  };
}

const nothing = (): Promise<void> => Promise.resolve();
