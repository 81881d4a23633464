/** Groups unsuccessful calls by who can act on them. Reads one page at a time from the read tables. */
import { checkObject } from '../base/check-keys.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { WhoseMove } from '../call/reason.ts';
import { isReasonCode, reasonOf } from '../call/reason.ts';
import type { CallQuery, CallSummary } from './call-query.ts';
import type { Ledger } from './ledger.ts';

/** Selects the calls to examine. */
export type ErrorQuery = Pick<CallQuery, 'sessionId' | 'toolName' | 'mode' | 'code' | 'since' | 'until'> & {
  /** Examines at most this many calls, the newest. Default: all. */
  readonly limit?: number | undefined;
  /** Stops the search; the results so far are returned. */
  readonly signal?: AbortSignal | undefined;
};

/** Failures that the same party must fix. */
export type ErrorGroup = {
  /** `unknown` for codes of a newer version. */
  readonly whoseMove: WhoseMove | 'unknown';
  readonly count: number;
  /** The most frequent first. */
  readonly codes: readonly ErrorSummary[];
};

/** Calls that ended for one reason. */
export type ErrorSummary = {
  readonly code: string;
  /** A short description of the reason. Undefined for a code of a newer version. */
  readonly title: string | undefined;
  readonly whatToDo: string | undefined;
  readonly count: number;
  /** Number of these calls whose effect is unresolved. */
  readonly unresolved: number;
  /** The most frequent first. */
  readonly tools: readonly { readonly toolName: string; readonly count: number }[];
  readonly firstAt: number;
  readonly lastAt: number;
  /** The newest of them. */
  readonly sample: CallSummary;
};

/** Order for people: failures that may go away by themselves first, those that need no action last. */
const order: { readonly [Move in ErrorGroup['whoseMove']]: number } = {
  retry: 0,
  'your inputs': 1,
  "the tool's author": 2,
  're-record': 3,
  budget: 4,
  'a person': 5,
  'no action': 6,
  unknown: 7,
};

const unsuccessful: readonly ToolOutcome['type'][] = ['ToolFailure', 'ToolTimeout', 'ToolDenied'];

/** Groups → codes → calls. Keeps one line per code and tool, however many calls there are. */
export async function summarizeErrors(
  ledger: Pick<Ledger, 'query'>,
  query: ErrorQuery = {},
): Promise<readonly ErrorGroup[]> {
  checkObject('summarizeErrors', query);
  const { limit } = query;
  const tallies = new Map<string, Tally>();
  if (limit === undefined)
    for (const outcome of unsuccessful)
      for await (const call of newestFirst(ledger, query, outcome)) count(tallies, call);
  else for (const call of await newest(ledger, query, limit)) count(tallies, call);
  return toGroups(tallies);
}

async function* newestFirst(
  ledger: Pick<Ledger, 'query'>,
  { signal, limit = Number.POSITIVE_INFINITY, ...asked }: ErrorQuery,
  outcome: ToolOutcome['type'],
): AsyncGenerator<CallSummary, void, undefined> {
  let cursor: string | undefined;
  let left = limit;
  while (left > 0) {
    const page = await ledger.query('calls', { ...asked, outcome, limit: Math.min(left, 500), cursor });
    yield* page.rows;
    left -= page.rows.length;
    cursor = page.next;
    if (cursor === undefined || signal?.aborted === true) return;
  }
}

/** The newest of all unsuccessful calls. */
async function newest(
  ledger: Pick<Ledger, 'query'>,
  query: ErrorQuery,
  limit: number,
): Promise<readonly CallSummary[]> {
  const calls: CallSummary[] = [];
  for (const outcome of unsuccessful)
    for await (const call of newestFirst(ledger, query, outcome)) calls.push(call);
  return calls.toSorted((one, other) => other.requestedAt - one.requestedAt).slice(0, limit);
}

type Tally = {
  count: number;
  unresolved: number;
  readonly tools: Map<string, number>;
  firstAt: number;
  lastAt: number;
  sample: CallSummary;
};

function count(tallies: Map<string, Tally>, call: CallSummary): void {
  const { code = 'unknown', toolName, unresolved } = call;
  const at = call.settledAt ?? call.requestedAt;
  let tally = tallies.get(code);
  if (tally === undefined) {
    tally = { count: 0, unresolved: 0, tools: new Map(), firstAt: at, lastAt: at, sample: call };
    tallies.set(code, tally);
  }
  tally.count++;
  if (unresolved) tally.unresolved++;
  tally.tools.set(toolName, (tally.tools.get(toolName) ?? 0) + 1);
  tally.firstAt = Math.min(tally.firstAt, at);
  if (at > tally.lastAt) [tally.lastAt, tally.sample] = [at, call];
}

function toGroups(tallies: ReadonlyMap<string, Tally>): readonly ErrorGroup[] {
  const groups = new Map<ErrorGroup['whoseMove'], ErrorSummary[]>();
  for (const [code, tally] of tallies) {
    const reason = isReasonCode(code) ? reasonOf(code) : undefined;
    const move = reason?.whoseMove ?? 'unknown';
    const codes = groups.get(move) ?? [];
    groups.set(move, codes);
    codes.push({
      code,
      title: reason?.title,
      whatToDo: reason?.whatToDo,
      ...tally,
      tools: [...tally.tools]
        .map(([toolName, calls]) => ({ toolName, count: calls }))
        .toSorted((one, other) => other.count - one.count || (one.toolName < other.toolName ? -1 : 1)),
    });
  }
  return [...groups]
    .map(([whoseMove, codes]) => ({
      whoseMove,
      count: codes.reduce((sum, each) => sum + each.count, 0),
      codes: codes.toSorted((one, other) => other.count - one.count || (one.code < other.code ? -1 : 1)),
    }))
    .toSorted((one, other) => order[one.whoseMove] - order[other.whoseMove]);
}
