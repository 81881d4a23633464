/** Queries of the read tables. The tables contain only data that can be rebuilt from events. */
import type { JsonObject } from '../base/json.ts';
import type { CallStatus, ConfirmationStatus } from '../call/call.ts';
import type { DenialReason, ToolOutcome } from '../call/outcome.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import { QuittanceError } from '../base/error.ts';

/** All given fields must match. Times are in milliseconds since 1970; `since` is inclusive, `until` exclusive. */
export type CallQuery = {
  readonly sessionId?: string | undefined;
  /** Calls whose id begins with this. */
  readonly idStart?: string | undefined;
  readonly toolName?: string | undefined;
  readonly mode?: ToolMode | undefined;
  readonly status?: CallStatus | undefined;
  /** Several: calls that ended in one of them. */
  readonly outcome?: ToolOutcome['type'] | readonly ToolOutcome['type'][] | undefined;
  readonly code?: string | undefined;
  /** Id of the user on whose behalf the call is made. */
  readonly userId?: string | undefined;
  /** Calls that this rule denied. */
  readonly ruleId?: string | undefined;
  /** Calls whose effect may have happened and that are not resolved. */
  readonly unresolved?: boolean | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /**
   * Words and conditions on arguments: see `parseCallSearch`. Words are found in ids, tool, user, code, message, arguments
   * and output, as stored. With it, or `idStart`, calls are listed in the order in which they were appended, newest first.
   */
  readonly text?: string | undefined;
  readonly limit?: number | undefined;
  /**
   * Approximate limit of the calls to examine if no index finds the matching ones. The page may then be short or empty and
   * still have a `next`. Default: all.
   */
  readonly scan?: number | undefined;
  /** `next` of the previous page. */
  readonly cursor?: string | undefined;
};

/** The outcomes that a query selects; undefined for any. */
export const outcomesOf = ({ outcome }: CallQuery): readonly ToolOutcome['type'][] | undefined =>
  typeof outcome === 'string' ? [outcome] : outcome;

/** Calls that failed or timed out, among those with one of the outcomes. */
export const errorsAmong = (query: Pick<CallQuery, 'outcome'>): readonly ToolOutcome['type'][] => {
  const asked = outcomesOf(query);
  return (['ToolFailure', 'ToolTimeout'] as const).filter((type) => asked?.includes(type) ?? true);
};

export type SessionQuery = Pick<
  CallQuery,
  'sessionId' | 'since' | 'until' | 'text' | 'limit' | 'scan' | 'cursor'
>;

export type Page<Row> = { readonly rows: readonly Row[]; readonly next: string | undefined };

/** One line about a call. */
export type CallSummary = {
  readonly sessionId: string;
  readonly callId: string;
  readonly turnId: string;
  readonly toolName: string;
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
  readonly status: CallStatus;
  readonly outcome: ToolOutcome['type'] | undefined;
  readonly reason: DenialReason | undefined;
  readonly code: string | undefined;
  /** The error or the details, shortened. */
  readonly message: string | undefined;
  readonly inputDigest: string | undefined;
  readonly attempts: number;
  readonly unresolved: boolean;
  readonly requestedAt: number;
  readonly settledAt: number | undefined;
  readonly elapsedMs: number | undefined;
  readonly costMicros: number;
  readonly userId: string | undefined;
  /** The rule, or the stage of a workflow, that denied the call. */
  readonly ruleId: string | undefined;
  /** The first arguments in short form, as stored: see `toShownArguments`. */
  readonly args: JsonObject | undefined;
};

export type SessionSummary = {
  readonly sessionId: string;
  readonly calls: number;
  readonly openCalls: number;
  readonly failures: number;
  readonly denials: number;
  readonly unresolved: number;
  readonly firstAt: number;
  readonly lastAt: number;
};

/** Queries for open calls and for confirmations. */

/** A call without an outcome, and its last owner. */
export type OpenCall = {
  readonly sessionId: string;
  readonly callId: string;
  readonly ownerId: string;
  /** Pass it to continue after this row. Only this store understands it. */
  readonly cursor: string;
  /** As in the list. Absent if the store would have to read the call. */
  readonly status?: CallSummary['status'];
  readonly mode?: CallSummary['mode'];
};
export type OpenCallQuery = { readonly after?: string; readonly limit?: number };

/** All given fields must match. */
export type ConfirmationQuery = {
  readonly confirmationId?: string | undefined;
  readonly status?: ConfirmationStatus | undefined;
  readonly sessionId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly limit?: number | undefined;
  /** `next` of the previous page. */
  readonly cursor?: string | undefined;
};

/** One line about a confirmation: its call and its status. */
export type ConfirmationSummary = {
  readonly confirmationId: string;
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly askedAt: number;
  readonly expiresAt: number | undefined;
  readonly status: ConfirmationStatus;
};

export const matchesConfirmation = (found: ConfirmationSummary, query: ConfirmationQuery): boolean =>
  (query.confirmationId === undefined || query.confirmationId === found.confirmationId) &&
  (query.status === undefined || query.status === found.status) &&
  (query.sessionId === undefined || query.sessionId === found.sessionId) &&
  (query.toolName === undefined || query.toolName === found.toolName);

/** Pages of lists that are read newest first. A place is the time of a row and, within one millisecond, its rank. */

export type PageCursor = readonly [at: number, id: number];

const defaultLimit = 50;
const mostRows = 1_000;

/** Number of rows per page. */
export const clampPageLimit = (limit: number = defaultLimit): number =>
  Math.max(1, Math.min(mostRows, Math.floor(limit)));

export const toCursor = ([at, id]: PageCursor): string => `${at.toString(36)}.${id.toString(36)}`;

export function parseCursor(cursor: string): PageCursor {
  const [at, id, more] = cursor.split('.');
  const place: PageCursor = [Number.parseInt(at ?? '', 36), Number.parseInt(id ?? '', 36)];
  if (more === undefined && toCursor(place) === cursor) return place;
  throw new QuittanceError(
    'config.invalid',
    `A cursor must be the "next" of the previous page; found ${JSON.stringify(cursor)}.`,
  );
}

/** Reads a list that is longer than a page, until there are enough rows or no more. */

const mostRowsOfPage = 500;

/** Rows that one page examines at most, if no index finds the matching ones: then `signal` ends a search soon. */
const mostExaminedByPage = 2_000;

type Place = {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  readonly scan?: number | undefined;
};

/**
 * Pages with at most `limit` rows in total. A page may be short or empty although others follow. If there is more, the last
 * page has a `next`.
 */
export async function* readPages<Row, Query extends Place>(
  ask: (query: Query) => Promise<Page<Row>>,
  query: Query,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<Page<Row>, void, undefined> {
  let { cursor } = query;
  for (let left = limit; left > 0 && !signal.aborted;) {
    const page = await ask({
      ...query,
      limit: Math.min(left, mostRowsOfPage),
      cursor,
      scan: mostExaminedByPage,
    });
    yield page;
    if (page.next === undefined) return;
    left -= page.rows.length;
    cursor = page.next;
  }
}
