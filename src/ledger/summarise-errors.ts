/** What did not succeed, grouped by who can do something about it. Read a page at a time from the read tables. */
import type { ToolOutcome } from '../call/outcome.ts';
import type { WhoseMove } from '../call/reason.ts';
import { isReasonCode, reasonOf } from '../call/reason.ts';
import type { CallQuery, CallSummary } from './call-query.ts';
import type { Ledger } from './ledger.ts';

/** Which calls to look at. */
export type ErrorQuery = Pick<CallQuery, 'sessionId' | 'toolName' | 'mode' | 'code' | 'since' | 'until'> & {
  /** Stops looking; what was found until then is given. */
  readonly signal?: AbortSignal | undefined;
};

/** Everything that waits for the same one to move. */
export type ErrorGroup = {
  /** `unknown` for codes of a newer version. */
  readonly whoseMove: WhoseMove | 'unknown';
  readonly count: number;
  /** The commonest first. */
  readonly codes: readonly ErrorCode[];
};

/** Calls that ended for one reason. */
export type ErrorCode = {
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
  ledger: Pick<Ledger, 'queryCalls'>,
  query: ErrorQuery = {},
): Promise<readonly ErrorGroup[]> {
  const { signal, ...asked } = query;
  const tallies = new Map<string, Tally>();
  for (const outcome of unsuccessful) {
    let cursor: string | undefined;
    do {
      const page = await ledger.queryCalls({ ...asked, outcome, limit: 500, cursor });
      for (const call of page.rows) count(tallies, call);
      cursor = page.next;
    } while (cursor !== undefined && signal?.aborted !== true);
  }
  return toGroups(tallies);
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
  const groups = new Map<ErrorGroup['whoseMove'], ErrorCode[]>();
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
