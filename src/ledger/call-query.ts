/** Queries of the read tables. The tables contain only data that can be rebuilt from events. */
import type { JsonObject } from '../base/json.ts';
import type { CallStatus } from '../call/call.ts';
import type { DenialReason, ToolOutcome } from '../call/outcome.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';

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
   * About how many calls to examine if no index finds the matching ones: not many more, besides those of the page. The
   * page may then be short or empty and still have a `next`. Default: all.
   */
  readonly scan?: number | undefined;
  /** `next` of the previous page. */
  readonly cursor?: string | undefined;
};

/** The outcomes that a query asks for; undefined if it asks for any. */
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
