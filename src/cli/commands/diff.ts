import type { Ledger } from '../../ledger/ledger.ts';
import type { ReadEvent } from '../../ledger/unknown-event.ts';
import { diffSessions } from '../../replay/diff-sessions.ts';
import type { CliCommand, Given } from '../command.ts';
import { reads } from '../command.ts';
import { diffLines, diffToJson } from '../diff-lines.ts';
import { exitCodes } from '../exit-code.ts';
import { meantSession } from '../meant-options.ts';
import { terminalId, safeJson } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';

export const diffCommand: CliCommand = {
  name: 'diff',
  summary: 'Compare two sessions, call by call',
  takes: '<session> <session>',
  most: 2,
  about: [
    'Lists the calls that only one session made, and the differences of the calls both made. Compared: arguments, coercions, decisions and their rules, confirmations and their approvers, attempts, outcomes, outputs by path, the text for the model, and the cost. Ids, times and later resolutions are ignored.',
    'Exit codes, as in diff: 0 identical, 1 different.',
  ],
  options: {
    'ledger-b': {
      value: 'URL',
      help: 'Ledger of the second session; default: the same ledger',
      file: true,
    },
    all: { help: 'Also show identical calls' },
    json: { help: 'JSON instead of text: one line per call that differs, then one with the totals' },
  },
  examples: [
    ['quittance diff ticket-42 ticket-42-again', 'a run and its replay'],
    ['quittance diff nightly nightly --ledger monday.db --ledger-b tuesday.db', 'sessions of two ledgers'],
    ["quittance diff a b --json | jq '.differences[]?.field'", 'the differing fields, for a program'],
  ],
  effect: reads,
  run: async (given, context) => {
    const [a, b] = given.args;
    if (a === undefined || b === undefined)
      throw new UsageError('Expected two sessions to compare.', [
        'quittance diff <session> <session>',
        'quittance sessions',
      ]);
    const other = given.has('ledger-b');
    const left = await context.withLedger(given, (ledger) => readSession(ledger, a, context.signal));
    const right = await context.withLedger(other ? inLedgerB(given) : given, (ledger) =>
      readSession(ledger, b, context.signal),
    );
    const diff = diffSessions(left, right, { sameLedger: !other });
    const { out } = context;
    const lines = given.has('json')
      ? diffToJson(diff, given.has('all')).map((line) => safeJson(line))
      : diffLines(diff, [a, b], given.has('all'), out);
    for (const line of lines) await out.print(line);
    return diff.identical ? exitCodes.good : exitCodes.bad;
  },
};

/** The typed arguments, with `--ledger-b` in place of `--ledger`. */
const inLedgerB = (given: Given): Given => ({
  args: given.args,
  has: (option) => given.has(option),
  list: (option) => given.list(option),
  count: (option) => given.count(option),
  text: (option) => given.text(option === 'ledger' ? 'ledger-b' : option),
});

async function readSession(
  ledger: Ledger,
  typed: string,
  signal: AbortSignal,
): Promise<readonly ReadEvent[]> {
  const events = await ledger.journal.readSession(await meantSession(ledger, typed, signal));
  if (events.length > 0) return events;
  // Not 1, which means here that the sessions differ.
  throw new UsageError(`There is no session ${JSON.stringify(terminalId(typed))}.`, ['quittance sessions']);
}
