/** Reads calls that took the usual course from few columns of their entries: see `PlainCall`. */
import type { CallSummary } from '../../ledger/call-query.ts';
import type { PlainCall, PlainRow } from '../../ledger/plain-call.ts';
import { toCallWords } from '../../ledger/call-words.ts';
import {
  beginPlainCall,
  continuePlainCall,
  countPlainEvents,
  mostBodyChars,
} from '../../ledger/plain-call.ts';
import type { SessionTally } from '../../ledger/session-tally.ts';
import type { ProjectedCall } from './call-projection.ts';
import { rowKeyOf, toCallRow } from './call-projection.ts';
import type { EntryRow } from './entry-row.ts';
import { fromPgText } from './pg-text.ts';

/** `bodies` is empty if it is large and the reading of a usual call does not need it. */
export type LightRow = Omit<EntryRow, 'salt'>;
type Light = PlainRow & { readonly row: LightRow };

const isNeeded = `length(e.bodies) <= ${mostBodyChars} OR e.bodies LIKE '%"principal"%'`;

const names = ['position', 'session_id', 'sequence', 'call_id', 'version', 'text', 'hash'];

export const lightColumns: string = [
  ...names.map((name) => `e.${name}`),
  `CASE WHEN ${isNeeded} THEN e.bodies WHEN e.bodies IS NOT NULL THEN '' END AS bodies`,
].join(', ');

export class PlainCalls {
  readonly #plain = new Map<string, PlainCall<Light>>();
  readonly #otherKeys = new Set<string>();
  /** Entries that must be decoded, and all entries of their calls in this step. */
  readonly others: LightRow[] = [];

  /** Takes the entries in their order. Counts the events of those that it reads. */
  take(row: LightRow, session: SessionTally): void {
    const key = row.call_id === null ? undefined : rowKeyOf(row);
    if (key === undefined || this.#otherKeys.has(key) || !this.#read(key, row, session))
      this.others.push(row);
  }

  /** Calls that are complete as far as they were read. */
  *calls(): Iterable<ProjectedCall> {
    for (const call of this.#plain.values()) {
      const { session_id, position } = (call.rows[0] as Light).row; // a call has an entry
      const summary = toSummary(call);
      yield {
        isNew: true,
        summary,
        row: toCallRow(session_id, position, summary, call.ownerId),
        words: toCallWords(summary, call.output),
        confirmations: [],
      };
    }
  }

  #read(key: string, row: LightRow, session: SessionTally): boolean {
    const known = this.#plain.get(key);
    const light: Light = {
      row,
      text: row.text,
      bodies: row.bodies,
      call: row.call_id === null ? null : fromPgText(row.call_id),
      version: row.version,
    };
    const call = known === undefined ? beginOne(light) : continuePlainCall(known, light) ? known : undefined;
    if (call?.sessionId === session.sessionId) {
      this.#plain.set(key, call);
      countPlainEvents(session, call);
      return true;
    }
    this.#plain.delete(key);
    this.#otherKeys.add(key);
    for (const { row: earlier } of known?.rows ?? []) this.others.push(earlier);
    return false;
  }
}

const beginOne = (light: Light): PlainCall<Light> | undefined =>
  light.version === 1 ? beginPlainCall(light) : undefined;

/** The entries were written by this program, so their words are ours. */
const toSummary = (call: PlainCall<Light>): CallSummary =>
  ({
    sessionId: call.sessionId,
    callId: call.rows[0]?.call ?? '',
    turnId: call.turnId,
    toolName: call.toolName,
    mode: call.mode,
    modeOrigin: call.modeOrigin,
    status: call.status,
    outcome: call.status === 'settled' ? 'ToolExecutionResult' : undefined,
    reason: undefined,
    code: undefined,
    message: undefined,
    inputDigest: call.inputDigest,
    attempts: call.attempts,
    unresolved: false,
    requestedAt: call.requestedAt,
    settledAt: call.settledAt,
    elapsedMs: call.elapsedMs,
    costMicros: call.costMicros,
    userId: call.userId,
    ruleId: undefined,
    args: call.args,
  }) as CallSummary;
