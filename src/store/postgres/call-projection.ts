/** Writes the summary of one call's entries to the read tables. */
import type { CallEvent, QuittanceEvent } from '../../call/event.ts';
import { foldCall } from '../../call/evolve.ts';
import type { JsonObject } from '../../base/json.ts';
import type { CallSummary } from '../../ledger/call-query.ts';
import { hourOf, latencyBin } from '../../ledger/call-tally.ts';
import type { ReadEntry } from '../../ledger/formats/v1/read-entry.ts';
import { toCallWords } from '../../ledger/call-words.ts';
import { outputOf, toCallSummary } from '../../ledger/summarize-call.ts';
import { summarizeConfirmations } from '../../ledger/summarize-confirmations.ts';
import { takesOn } from '../../ledger/takes-on.ts';
import type { EntryRow } from './entry-row.ts';
import { toPgText } from './pg-text.ts';

export type DecodedEntry = { readonly row: EntryRow; readonly entry: ReadEntry };

export type ProjectedCall = {
  /** The tables have no row of it: its first entry was just read. */
  readonly isNew: boolean;
  readonly summary: CallSummary;
  /** A row of `read_calls`. */
  readonly row: JsonObject;
  /** For `read_words`. */
  readonly words: ReadonlySet<string>;
  /** Rows of `read_confirmations`. */
  readonly confirmations: readonly JsonObject[];
};

/** `entries`: all entries of a call, from the first. */
export function projectCall(entries: readonly DecodedEntry[]): ProjectedCall | undefined {
  const [first] = entries;
  const callId = first?.entry.callId;
  if (first === undefined || callId === undefined) return undefined;
  const events = entries.flatMap(({ entry }) =>
    (entry.events as readonly QuittanceEvent[]).filter(
      (event): event is CallEvent => 'callId' in event && event.callId === callId,
    ),
  );
  const call = foldCall(events);
  if (call === undefined) return undefined;
  const summary = toCallSummary(call);
  const { position, session_id: session } = first.row;
  return {
    isNew: false,
    summary,
    row: toCallRow(session, position, summary, ownerOf(entries)),
    words: toCallWords(summary, outputOf(call)),
    confirmations: summarizeConfirmations(events).map((asked) => ({
      confirmation_id: toPgText(asked.confirmationId),
      session_id: session,
      call_id: toPgText(asked.callId),
      position,
      tool_name: toPgText(asked.toolName),
      status: asked.status,
      asked_at: asked.askedAt,
      expires_at: asked.expiresAt ?? null,
    })),
  };
}

/** A remark does not move the call, so its writer is not the owner. */
const ownerOf = (entries: readonly DecodedEntry[]): string =>
  entries.findLast(
    ({ row, entry }) => row.version !== null && takesOn(entry.events as readonly QuittanceEvent[]),
  )?.entry.ownerId ?? '';

const orNull = (text: string | undefined): string | null => (text === undefined ? null : toPgText(text));

export const toCallRow = (
  session: string,
  position: number,
  call: CallSummary,
  ownerId: string,
): JsonObject => ({
  session_id: session,
  call_id: toPgText(call.callId),
  position,
  turn_id: toPgText(call.turnId),
  tool_name: toPgText(call.toolName),
  mode: call.mode,
  mode_origin: call.modeOrigin,
  status: call.status,
  outcome: call.outcome ?? null,
  reason: call.reason ?? null,
  code: orNull(call.code),
  message: call.message?.toWellFormed().replaceAll('\0', '\uFFFD') ?? null,
  input_digest: orNull(call.inputDigest),
  attempts: call.attempts,
  unresolved: call.unresolved,
  requested_at: call.requestedAt,
  settled_at: call.settledAt ?? null,
  elapsed_ms: call.elapsedMs ?? null,
  cost_micros: call.costMicros,
  user_id: orNull(call.userId),
  rule_id: orNull(call.ruleId),
  owner_id: toPgText(ownerId),
  hour: hourOf(call.requestedAt),
  bin: latencyBin(call),
  args: call.args === undefined ? null : JSON.stringify(call.args).toWellFormed(),
});

/** The columns of `read_calls` and their types. */
export const callColumns: readonly (readonly [
  column: string,
  type: 'text' | 'bigint' | 'integer' | 'boolean',
])[] = [
  ['session_id', 'text'],
  ['call_id', 'text'],
  ['position', 'bigint'],
  ['turn_id', 'text'],
  ['tool_name', 'text'],
  ['mode', 'text'],
  ['mode_origin', 'text'],
  ['status', 'text'],
  ['outcome', 'text'],
  ['reason', 'text'],
  ['code', 'text'],
  ['message', 'text'],
  ['input_digest', 'text'],
  ['attempts', 'integer'],
  ['unresolved', 'boolean'],
  ['requested_at', 'bigint'],
  ['settled_at', 'bigint'],
  ['elapsed_ms', 'bigint'],
  ['cost_micros', 'bigint'],
  ['user_id', 'text'],
  ['rule_id', 'text'],
  ['owner_id', 'text'],
  ['hour', 'bigint'],
  ['bin', 'integer'],
  ['args', 'text'],
];

export const rowKeyOf = ({ session_id, call_id }: Pick<EntryRow, 'session_id' | 'call_id'>): string =>
  `${session_id.length}:${session_id}${call_id ?? ''}`;
