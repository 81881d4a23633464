import { callMatcher, matchesText } from 'quittance/internal/ledger/call-search';
import { outputOf, toCallSummary } from 'quittance/internal/ledger/listed-call';
import type { CallQuery, CallSummary } from 'quittance/internal/ledger/call-query';
import { parseCursor, readPages } from 'quittance/internal/ledger/call-query';
import { readEntry } from 'quittance/internal/ledger/formats/v1/read-entry';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { foldStored } from 'quittance/internal/ledger/fold-stored';
import { filterOptions, pagingOptions, toCallQuery } from '../call-query.ts';
import { callColumns, callRow, callToJson, followColumns, followRow, usualRow } from '../call-columns.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { jsonOption, reads } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { printList } from '../print-list.ts';
import { SearchProgress } from '../search-progress.ts';
import { safeJson } from '../terminal-text.ts';
import { layOutTable } from '../table.ts';
import { UsageError } from '../usage-error.ts';
import { findCalls, whenAppended } from 'quittance/internal/ledger/reads';

export const callsCommand: CliCommand = {
  name: 'calls',
  summary: 'List calls, newest first',
  about: [
    'A call must match all given filters. STATUS is the outcome of a call, or its current state while it has none. A "?" behind it means that its effect is unknown (see: quittance reconcile).',
    'ARGUMENTS shows the first arguments as stored, so secrets stay hidden; quittance show has all of them. A narrow terminal cuts and drops columns, a pipe gets all of them.',
    'With --follow the list continues with new calls, made by any process, until Ctrl-C.',
  ],
  options: {
    ...filterOptions,
    ...pagingOptions,
    follow: { help: 'Keep listing new calls as they happen' },
    json: jsonOption,
  },
  examples: [
    ['quittance calls --since 1h --outcome failed', 'failures of the last hour'],
    ['quittance calls --session ticket-42 --tool refund', 'the refunds of one session'],
    ['quittance calls --follow', 'new calls, as they happen'],
    ['quittance calls --all --json | jq -r .toolName | sort | uniq -c', 'how often each tool was called'],
  ],
  effect: reads,
  run: (given, context) =>
    context.withLedger(given, (ledger, meant) =>
      given.has('follow') ? follow(ledger, meant, context) : list(ledger, meant, context),
    ),
};

const list = (ledger: OpenLedger, given: Given, context: Context): Promise<ExitCode> => {
  const now = context.now();
  return printList<CallSummary, CallQuery>(
    {
      ask: (query) => findCalls(ledger, query),
      query: toCallQuery(given, now),
      columns: callColumns,
      toRow: (call) => callRow(call, now),
      toJson: callToJson,
      none: 'No calls match.',
    },
    given,
    context,
  );
};

async function follow(ledger: OpenLedger, given: Given, context: Context): Promise<ExitCode> {
  const { out, err, signal } = context;
  if (given.has('cursor') || given.has('until') || given.has('all'))
    throw new UsageError('--follow never ends, so it cannot be combined with --cursor, --until or --all.', [
      'quittance calls --follow --limit 20',
    ]);
  const query = toCallQuery(given, context.now());
  let position = await findEnd(ledger);
  const newest: CallSummary[] = [];
  const progress = new SearchProgress(err);
  for await (const page of readPages<CallSummary, CallQuery>(
    (asked) => findCalls(ledger, asked),
    query,
    given.count('limit') ?? 10,
    signal,
  )) {
    newest.push(...page.rows);
    if (page.next !== undefined) await progress.reached(parseCursor(page.next)[0]);
  }
  await progress.clear();
  const before = newest.toReversed();
  const asJson = given.has('json');
  const table = layOutTable(
    followColumns,
    [usualRow, ...before.map((call) => followRow(call, context.now()))],
    out.width,
    out.paint,
  );
  const show = (call: CallSummary): Promise<void> =>
    out.print(asJson ? safeJson(callToJson(call)) : table.line(followRow(call, context.now())));
  if (!asJson) await out.print(table.heading());
  for (const call of before) await show(call);
  if (!asJson) await err.print(err.paint('dim', 'Following new calls. Press Ctrl-C to stop.'));

  // Waiting for the ledger does not keep the process alive.
  const alive = setInterval(() => undefined, 60_000);
  const matches = callMatcher(query);
  const shown = new Map(before.map((call) => [keyOf(call), stateOf(call)]));
  try {
    while (!signal.aborted) {
      await whenAppended(ledger, position, signal);
      if (signal.aborted) break;
      const entries = await ledger.readEntries({ after: position, limit: 500 });
      const touched = new Map<string, { sessionId: string; callId: string }>();
      for (const entry of entries) {
        position = entry.position;
        const { sessionId, callId } = readEntry(entry);
        if (callId !== undefined) touched.set(keyOf({ sessionId, callId }), { sessionId, callId });
      }
      for (const [key, { sessionId, callId }] of touched) {
        const stored = await ledger.readCall(sessionId, callId);
        const call = stored && foldStored(stored);
        const summary = call && toCallSummary(call);
        if (call === undefined || summary === undefined || shown.get(key) === stateOf(summary)) continue;
        if (!matches(summary) || !matchesText(summary, outputOf(call), query)) continue;
        if (shown.size > mostRemembered) shown.clear();
        shown.set(key, stateOf(summary));
        await show(summary);
      }
    }
  } finally {
    clearInterval(alive);
  }
  return exitCodes.good;
}

const mostRemembered = 100_000;

const keyOf = ({ sessionId, callId }: Pick<CallSummary, 'sessionId' | 'callId'>): string =>
  JSON.stringify([sessionId, callId]);

/** A call is printed again when this text changes. */
const stateOf = ({ status, outcome, unresolved }: CallSummary): string =>
  `${status} ${outcome} ${unresolved}`;

/** The position of the last entry. The ledger has no query for it; finding the next entry after a position is cheap. */
async function findEnd(ledger: OpenLedger): Promise<number> {
  const isAfter = async (position: number): Promise<boolean> =>
    (await ledger.readEntries({ after: position, limit: 1 })).length > 0;
  let [low, high] = [0, 1];
  while (await isAfter(high)) [low, high] = [high, high * 2];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await isAfter(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
