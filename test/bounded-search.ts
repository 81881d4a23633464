/**
 * Searches that no index answers: a store ends them after about as many rows as the caller allows, and continues there.
 * And searches that an index answers, however frequent the word is: a store examines no call in vain.
 */
import type { CallQuery, Page, SessionQuery } from '../packages/quittance/src/ledger/call-query.ts';
import type { OpenLedger } from '../packages/quittance/src/ledger/ledger.ts';
import { SampleCall } from '../packages/quittance/src/testing/sample-call.ts';
import { findCalls, findSessions } from '../packages/quittance/src/ledger/reads.ts';

const calls = 1_200;
const scan = 200;
const limit = 3;
const start = 1_700_000_000_000;
const wanted = [1_101, 607, 606, 19];
const denied = [1_000, 500, 31, 30, 2];
const held = [800, 4];

/** Two tools, each used by one of two users. The calls that are searched for have another mode and other arguments. */
export async function appendManyCalls(ledger: OpenLedger): Promise<void> {
  await Promise.all(
    Array.from({ length: calls }, async (_, n) => {
      const isWanted = wanted.includes(n);
      const call = new SampleCall(`c${n}`, {
        sessionId: isWanted ? `needle-${n}` : `session-${n}`,
        toolName: n % 2 === 0 ? 'look' : 'pay',
        userId: n % 2 === 0 ? 'ada' : 'omar',
        mode: isWanted ? 'read' : 'external',
        at: start + n,
        input: { kind: isWanted ? 'other' : 'usual', word: 'common' },
      });
      if (denied.includes(n)) {
        await ledger.append(call.deny(n % 2 === 0 ? 'no-pay' : undefined));
        return;
      }
      if (held.includes(n)) {
        await ledger.append(call.hold());
        return;
      }
      await ledger.append(call.begin());
      await ledger.append(call.end(n % 2 === 0 ? 'failure' : 'timeout'));
    }),
  );
}

type BoundedSearch = {
  readonly name: string;
  readonly query: CallQuery;
  /** The calls that it must find. */
  readonly finds: readonly string[];
  /** Calls that it must examine, because an index finds no fewer. */
  readonly examines: number;
};

const all = wanted.map((n) => `c${n}`).toSorted();
export const boundedSearches: readonly BoundedSearch[] = [
  { name: 'an argument that is not', query: { text: 'args.kind!=usual' }, finds: all, examines: calls },
  { name: 'with a word', query: { text: 'common args.kind!=usual' }, finds: all, examines: calls },
  { name: 'never met', query: { text: 'args.word!=common' }, finds: [], examines: calls },
  { name: 'a mode', query: { mode: 'read' }, finds: all, examines: calls },
  { name: 'a success', query: { outcome: 'ToolExecutionResult' }, finds: [], examines: calls },
  {
    name: 'two filters, never together',
    query: { toolName: 'pay', userId: 'ada' },
    finds: [],
    examines: calls / 2,
  },
  {
    name: 'two outcomes and a mode',
    query: { outcome: ['ToolFailure', 'ToolTimeout'], mode: 'read' },
    finds: all,
    examines: calls,
  },
  {
    name: 'an outcome and a tool, never together',
    query: { outcome: 'ToolTimeout', toolName: 'look' },
    finds: [],
    examines: calls / 2,
  },
];

const ids = (numbers: readonly number[]): readonly string[] => numbers.map((n) => `c${n}`).toSorted();

/** A word of every call, and a filter that few calls meet. */
export const directSearches: readonly Omit<BoundedSearch, 'examines'>[] = [
  { name: 'an outcome', query: { text: 'common ', outcome: 'ToolDenied' }, finds: ids(denied) },
  {
    name: 'outcomes, of which one is rare and one never met',
    query: { text: 'common ', outcome: ['ToolDenied', 'ToolArtifactReference'] },
    finds: ids(denied),
  },
  { name: 'an outcome never met', query: { text: 'common ', outcome: 'ToolArtifactReference' }, finds: [] },
  { name: 'no outcome', query: { text: 'common ', outcome: [] }, finds: [] },
  {
    name: 'a rule',
    query: { text: 'common ', ruleId: 'no-pay' },
    finds: ids(denied.filter((n) => n % 2 === 0)),
  },
  { name: 'a code', query: { text: 'common ', code: 'policy.hook' }, finds: ids([31]) },
  { name: 'a status', query: { text: 'common ', status: 'held' }, finds: ids(held) },
  { name: 'a mode', query: { text: 'common ', mode: 'read' }, finds: all },
  {
    name: 'an argument that is not',
    query: { text: 'args.word!=x', outcome: 'ToolDenied' },
    finds: ids(denied),
  },
];

/** The ids of all pages, and how many pages more there were than needed for them. */
export async function searchDirectly(
  ledger: OpenLedger,
  { query }: Pick<BoundedSearch, 'query'>,
): Promise<{ readonly found: readonly string[]; readonly emptyPages: number }> {
  const { rows, pages } = await readAll((step) => findCalls(ledger, { ...query, ...step, scan: 1 }));
  const needed = Math.max(1, Math.ceil(rows.length / limit));
  return { found: rows.map(({ callId }) => callId).toSorted(), emptyPages: pages - needed };
}

/** The ids of all pages, and the number of rows that a page examined on average. */
export async function searchAll(
  ledger: OpenLedger,
  { query, examines }: BoundedSearch,
): Promise<{ readonly found: readonly string[]; readonly examinedPerPage: number }> {
  const { rows, pages } = await readAll((step) => findCalls(ledger, { ...query, ...step }));
  return { found: rows.map(({ callId }) => callId).toSorted(), examinedPerPage: examines / pages };
}

export async function searchSessions(
  ledger: OpenLedger,
  text: string,
): Promise<{ readonly found: readonly string[]; readonly examinedPerPage: number }> {
  const { rows, pages } = await readAll((step) => findSessions(ledger, { text, ...step }));
  return { found: rows.map(({ sessionId }) => sessionId).toSorted(), examinedPerPage: calls / pages };
}

export const wantedSessions: readonly string[] = wanted.map((n) => `needle-${n}`).toSorted();

/** A page examines the rows that the caller allows, and at most one page of results more. */
export const mostExamined: number = scan + limit + 1;

async function readAll<Row>(
  find: (step: Pick<SessionQuery, 'limit' | 'scan' | 'cursor'>) => PromiseLike<Page<Row>> | Page<Row>,
): Promise<{ readonly rows: readonly Row[]; readonly pages: number }> {
  const rows: Row[] = [];
  let pages = 0;
  for (let cursor: string | undefined; ;) {
    const page = await find({ limit, scan, cursor });
    rows.push(...page.rows);
    pages++;
    if (page.next === undefined) return { rows, pages };
    cursor = page.next;
  }
}
