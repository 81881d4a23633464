import { createWriteStream, existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { once } from 'node:events';
import type { Head } from '../../ledger/chain.ts';
import { writeExport } from '../../ledger/export-format.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { StoredEntry } from '../../ledger/stored-entry.ts';
import type { Command, Context } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { shellWord } from '../find-call.ts';
import { readAllEntries } from '../../replay/read-all-entries.ts';
import { UsageError } from '../usage-error.ts';

export const exportCommand: Command = {
  name: 'export',
  summary: 'Write the ledger, or some sessions of it, as JSON Lines',
  about: [
    'The first line says what follows, the last what it comes to; each line between is an entry exactly as it is kept. `quittance verify --export` checks such a file without the ledger. Nothing sealed is in it, and artifacts are not.',
  ],
  options: {
    out: { value: 'FILE', help: 'Where to write; - for standard output', file: true },
    session: { value: 'ID', help: 'Only this session; may be given more than once', multiple: true },
    force: { help: 'Write over a file that is there already' },
  },
  examples: [
    ['quittance export --out ledger.jsonl', 'everything'],
    ['quittance export --session ticket-42 --out ticket-42.jsonl', 'one session'],
    ['quittance export --out - | gzip > ledger.jsonl.gz', 'everything, packed'],
  ],
  run: (given, context) => {
    const target = given.text('out');
    if (target === undefined)
      throw new UsageError('Where to?', [
        'quittance export --out ledger.jsonl',
        'quittance export --out - | gzip > ledger.jsonl.gz',
      ]);
    if (target === '-' && context.out.isTerminal)
      throw new UsageError(
        'An export is for programs: what tools wrote is in it as it is, and could act on this terminal.',
        ['quittance export --out ledger.jsonl', 'quittance export --out - | less'],
      );
    if (target !== '-' && existsSync(target) && !given.has('force'))
      throw new UsageError(`${target} is there already.`, [
        `quittance export --out ${shellWord(target)} --force`,
      ]);
    return context.withLedger(given, async (ledger) => {
      const heads = await chooseHeads(ledger, given.list('session'));
      return exportTo(target, ledger, heads, given.has('session'), context);
    });
  },
};

/** Where the chains stand now: what is appended from here on is left out. */
async function chooseHeads(ledger: Ledger, wanted: readonly string[]): Promise<readonly Head[]> {
  const heads = await ledger.readHeads();
  if (wanted.length === 0) return heads;
  const byId = new Map(heads.map((head) => [head.sessionId, head]));
  return [...new Set(wanted)].map((sessionId) => {
    const head = byId.get(sessionId);
    if (head !== undefined) return head;
    throw new UsageError(
      `There is no session ${JSON.stringify(sessionId)}.`,
      ['quittance sessions'],
      exitCodes.bad,
    );
  });
}

async function exportTo(
  target: string,
  ledger: Ledger,
  heads: readonly Head[],
  bySession: boolean,
  context: Context,
): Promise<ExitCode> {
  const { signal, err } = context;
  const total = heads.reduce((sum, { sequence }) => sum + sequence, 0);
  const progress = context.startProgress('export', total);
  let count = 0;
  async function* counted(): AsyncGenerator<StoredEntry, void, undefined> {
    for await (const entry of readAllEntries(ledger, signal, bySession ? heads : undefined)) {
      yield entry;
      count++;
      progress.step();
    }
  }
  const manifest = { createdAt: ledger.now(), toolVersion: context.version, heads };
  const writing = openTarget(target, context);
  for await (const line of writeExport(counted(), manifest)) {
    if (signal.aborted) break;
    await writing.write(line);
  }
  progress.done();
  if (signal.aborted) {
    await writing.abandon();
    await err.say(
      `Stopped after ${count} of ${total} entries. ${target === '-' ? 'What was written is no whole export, and verify says so.' : `Nothing was left at ${target}.`}`,
    );
    return exitCodes.good;
  }
  await writing.complete();
  const what = `${heads.length} ${heads.length === 1 ? 'session' : 'sessions'}, ${total} entries`;
  if (target !== '-')
    await err.say(`${what} in ${target}. To check it: quittance verify --export ${shellWord(target)}`);
  return exitCodes.good;
}

type Writing = {
  readonly write: (text: string) => Promise<void>;
  readonly complete: () => Promise<void>;
  readonly abandon: () => Promise<void>;
};

/** A file appears under its name only when all of it is there. */
function openTarget(target: string, { out }: Context): Writing {
  if (target === '-') return { write: out.write, complete: nothing, abandon: nothing };
  const draft = `${target}.part`;
  const stream = createWriteStream(draft, { mode: 0o600, flush: true });
  const ended = finished(stream);
  ended.catch(() => undefined); // said by whoever waits for it below
  return {
    async write(text) {
      if (!stream.write(text)) await Promise.race([once(stream, 'drain'), ended]);
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
