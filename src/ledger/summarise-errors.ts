/** What did not succeed, grouped by who can do something about it. Read a page at a time from the read tables. */
import type { ToolOutcome } from '../call/outcome.ts';
import type { WhoseMove } from '../call/reason.ts';
import { isReasonCode, reasonOf } from '../call/reason.ts';
import type { CallQuery, CallSummary } from './call-query.ts';
import type { Queries } from './queries.ts';

/** Which calls to look at. */
export type ErrorQuery = Pick<CallQuery, 'sessionId' | 'toolName' | 'mode' | 'code' | 'since' | 'until'> & {
  /** Looks at no more calls than this, the newest. All of them unless told. */
  readonly limit?: number | undefined;
  /** Stops looking; what was found until then is given. */
  readonly signal?: AbortSignal | undefined;
};

/** Everything that waits for the same one to move. */
export type ErrorGroup = {
  /** `unknown` for codes of a newer version. */
  readonly whoseMove: WhoseMove | 'unknown';
  readonly count: number;
  /** The commonest first. */
  readonly codes: readonly ErrorSummary[];
};

/** Calls that ended for one reason. */
export type ErrorSummary = {
  readonly code: string;
  /** The reason in a few words. Undefined for a code of a newer version. */
  readonly title: string | undefined;
  readonly whatToDo: string | undefined;
  readonly count: number;
  /** Of these, calls whose effect is in doubt and that nobody has resolved. */
  readonly unresolved: number;
  /** The commonest first. */
  readonly tools: readonly { readonly toolName: string; readonly count: number }[];
  readonly firstAt: number;
  readonly lastAt: number;
  /** The newest of them. */
  readonly sample: CallSummary;
};

/** In the order in which people look: what may go away by itself first, what nobody need do anything about last. */
const order: { readonly [Move in ErrorGroup['whoseMove']]: number } = {
  retry: 0,
  'your inputs': 1,
  "the tool's author": 2,
  're-record': 3,
  budget: 4,
  'a person': 5,
  nobody: 6,
  unknown: 7,
};

const unsuccessful: readonly ToolOutcome['type'][] = ['ToolFailure', 'ToolTimeout', 'ToolDenied'];

/** Groups → codes → calls. Holds one line for each code and tool, however many calls there are. */
export async function summariseErrors(
  queries: Pick<Queries, 'findCalls'>,
  query: ErrorQuery = {},
): Promise<readonly ErrorGroup[]> {
  const { limit } = query;
  const tallies = new Map<string, Tally>();
  if (limit === undefined)
    for (const outcome of unsuccessful)
      for await (const call of newestFirst(queries, query, outcome)) count(tallies, call);
  else for (const call of await newest(queries, query, limit)) count(tallies, call);
  return toGroups(tallies);
}

async function* newestFirst(
  queries: Pick<Queries, 'findCalls'>,
  { signal, limit = Number.POSITIVE_INFINITY, ...asked }: ErrorQuery,
  outcome: ToolOutcome['type'],
): AsyncGenerator<CallSummary, void, undefined> {
  let cursor: string | undefined;
  let left = limit;
  while (left > 0) {
    const page = await queries.findCalls({ ...asked, outcome, limit: Math.min(left, 500), cursor });
    yield* page.rows;
    left -= page.rows.length;
    cursor = page.next;
    if (cursor === undefined || signal?.aborted === true) return;
  }
}

/** The newest of all that did not succeed, in whichever way. */
async function newest(
  queries: Pick<Queries, 'findCalls'>,
  query: ErrorQuery,
  limit: number,
): Promise<readonly CallSummary[]> {
  const calls: CallSummary[] = [];
  for (const outcome of unsuccessful)
    for await (const call of newestFirst(queries, query, outcome)) calls.push(call);
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
