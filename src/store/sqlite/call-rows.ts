/** Writes the summary of one call's entries to the read tables. */
import type { ToolAuditRecord } from '../../call/audit.ts';
import { projectAudit } from '../../call/audit-projection.ts';
import type { CallEvent, QuittanceEvent } from '../../call/event.ts';
import { foldCall } from '../../call/evolve.ts';
import type { CallSummary } from '../../ledger/call-query.ts';
import { isKnownEvent } from '../../ledger/formats/v1/event-table.ts';
import type { ReadEntry } from '../../ledger/formats/v1/read-entry.ts';
import { summarizeConfirmations } from '../../ledger/summarize-confirmations.ts';
import type { WordedCall } from '../../ledger/call-words.ts';
import { toCallWords } from '../../ledger/call-words.ts';
import { toFilterMarks } from '../../ledger/filter-marks.ts';
import { outputOf, toCallSummary, userIdOf } from '../../ledger/summarize-call.ts';
import { takesOn } from '../../ledger/takes-on.ts';
import type { Database, SqlValue, Statement } from './database.ts';
import { prepareRow } from './database.ts';
import type { EntryRow } from './entry-row.ts';
import type { PlainCall } from '../../ledger/plain-call.ts';
import { fromSqlText, toSqlText } from './sql-text.ts';
import type { TallyCounts } from './tally-table.ts';
import { WordTable } from './word-table.ts';

export type DecodedRow = { readonly row: EntryRow; readonly entry: ReadEntry };

/** The parts of a call that a session counts. */
export type Tally = Pick<CallSummary, 'status' | 'outcome' | 'unresolved'>;

const callColumns = [
  'position',
  'session',
  'call_id',
  'turn_id',
  'tool_name',
  'mode',
  'mode_origin',
  'status',
  'outcome',
  'reason',
  'code',
  'message',
  'input_digest',
  'attempts',
  'unresolved',
  'requested_at',
  'settled_at',
  'elapsed_ms',
  'cost_micros',
  'user_id',
  'rule_id',
  'owner_id',
  'args',
] as const;
/** Set once, by the request. */
const fixedColumns: ReadonlySet<string> = new Set([
  'position',
  'session',
  'call_id',
  'turn_id',
  'tool_name',
  'mode',
  'mode_origin',
  'requested_at',
]);

export class CallRows {
  readonly #counts: TallyCounts;
  readonly #words: WordTable;
  readonly #tally: Statement<{
    status: Tally['status'];
    outcome: Tally['outcome'] | null;
    unresolved: number;
  }>;
  readonly #insertCall: Statement<never>;
  readonly #putCall: Statement<never>;
  readonly #putAudit: Statement<never>;
  readonly #dropAudit: Statement<never>;
  readonly #putConfirmation: Statement<never>;

  /** `counts`: counts the rows that are inserted. A trigger counts those that are updated. */
  constructor(tables: Database, counts: TallyCounts) {
    this.#counts = counts;
    this.#words = new WordTable(tables);
    this.#tally = prepareRow(tables, 'SELECT status, outcome, unresolved FROM calls WHERE position = ?');
    const later = callColumns.filter((column) => !fixedColumns.has(column));
    const insert = `INSERT INTO calls (${callColumns.join(', ')}) VALUES (${callColumns.map(() => '?').join(', ')})`;
    this.#insertCall = prepareRow(tables, insert);
    this.#putCall = prepareRow(
      tables,
      `${insert} ON CONFLICT (position) DO UPDATE SET ${later.map((column) => `${column} = excluded.${column}`).join(', ')}`,
    );
    this.#putAudit = prepareRow(
      tables,
      'INSERT OR REPLACE INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.#putConfirmation = prepareRow(
      tables,
      'INSERT OR REPLACE INTO confirmations VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.#dropAudit = prepareRow(tables, 'DELETE FROM audit WHERE position = ? AND call_id = ?');
  }

  /**
   * Writes the summary of all entries of a call. `isNew`: none of them was written before; otherwise also returns
   * what the session has counted so far.
   */
  put(
    entries: readonly DecodedRow[],
    isNew: boolean,
  ): { before: Tally | undefined; after: Tally } | undefined {
    const [first] = entries;
    const callId = first?.entry.callId;
    if (first === undefined || callId === undefined) return undefined;
    const { session, position } = first.row;
    const events: CallEvent[] = [];
    const positions: number[] = [];
    for (const { row, entry } of entries)
      for (const event of entry.events as readonly QuittanceEvent[])
        if ('callId' in event && event.callId === callId) {
          events.push(event);
          positions.push(row.position);
        }
    const call = foldCall(events);
    if (call === undefined) return undefined;
    const after = toCallSummary(call);
    const before = isNew ? undefined : this.#tally.get(position);
    this.#putCall.run(...toCallRow(position, session, after, ownerOf(entries)));
    this.#words.put(position, [...toCallWords(after, outputOf(call)), ...toFilterMarks(after)]);
    if (before === undefined) this.#counts.add(after);
    else for (const { row } of entries) this.#dropAudit.run(row.position, toSqlText(callId));
    for (const record of projectAudit(events)) {
      if (record.outcome.kind === 'completed') continue; // the row of the call says the same
      const index = events.findIndex(({ id }) => id === record.recordId);
      this.#putAudit.run(...toAuditRow(positions[index] ?? position, session, record));
    }
    if (call.confirmation !== undefined)
      for (const asked of summarizeConfirmations(events))
        this.#putConfirmation.run(
          toSqlText(asked.confirmationId),
          position,
          session,
          toSqlText(asked.callId),
          toSqlText(asked.toolName),
          asked.status,
          asked.askedAt,
          asked.expiresAt ?? null,
        );
    return {
      before: before && {
        ...before,
        outcome: before.outcome ?? undefined,
        unresolved: before.unresolved === 1,
      },
      after,
    };
  }

  /** Writes a call that took the usual course. */
  putPlain(call: PlainCall<EntryRow>): void {
    const { rows, status } = call;
    const { position, session, call: callId } = rows[0] as EntryRow; // a call has an entry
    const outcome = status === 'settled' ? 'ToolExecutionResult' : null;
    const put = call.stored === undefined ? this.#insertCall : this.#putCall;
    put.run(
      position,
      session,
      callId,
      toSqlText(call.turnId),
      toSqlText(call.toolName),
      call.mode,
      call.modeOrigin,
      status,
      outcome,
      null, // reason
      null, // code
      null, // message
      orNull(call.inputDigest),
      call.attempts,
      0, // unresolved
      call.requestedAt,
      call.settledAt ?? null,
      call.elapsedMs ?? null,
      call.costMicros,
      orNull(call.userId),
      null, // rule
      call.ownerId,
      argsText(call.args),
    );
    // Only what is read: copying the whole call would take longer than the rest.
    const worded: WordedCall = {
      callId: fromSqlText(callId ?? ''),
      sessionId: call.sessionId,
      toolName: call.toolName,
      userId: call.userId,
      code: undefined,
      message: undefined,
      args: call.args,
    };
    const words = [
      ...toCallWords(worded, call.output),
      ...toFilterMarks({
        mode: call.mode,
        status,
        outcome: outcome ?? undefined,
        code: undefined,
        unresolved: false,
      }),
    ];
    if (call.stored !== undefined) {
      this.#words.put(position, words);
      return;
    }
    this.#words.add(position, words);
    this.#counts.add({
      requestedAt: call.requestedAt,
      toolName: call.toolName,
      mode: call.mode,
      status,
      outcome: outcome ?? undefined,
      attempts: call.attempts,
      elapsedMs: call.elapsedMs,
      costMicros: call.costMicros,
    });
  }

  /**
   * Writes the audit records of calls that were not accepted. Writing them again, e.g. after an erasure, does not add
   * a row.
   */
  putRefusals({ row, entry }: DecodedRow): void {
    for (const event of entry.events)
      if (isKnownEvent(event) && event.type === 'call.not_accepted')
        for (const record of projectAudit([event]))
          this.#putAudit.run(...toAuditRow(row.position, row.session, record));
  }
}

/** Remarks do not change the owner: a process that makes one does not own the call. */
const ownerOf = (entries: readonly DecodedRow[]): string =>
  entries.findLast(
    ({ row, entry }) => row.version !== null && takesOn(entry.events as readonly QuittanceEvent[]),
  )?.entry.ownerId ?? '';

const argsText = (args: CallSummary['args']): string | null =>
  args === undefined ? null : JSON.stringify(args).toWellFormed();

const orNull = (text: string | undefined): string | null => (text === undefined ? null : toSqlText(text));

const toCallRow = (position: number, session: number, call: CallSummary, ownerId: string): SqlValue[] => [
  position,
  session,
  toSqlText(call.callId),
  toSqlText(call.turnId),
  toSqlText(call.toolName),
  call.mode,
  call.modeOrigin,
  call.status,
  call.outcome ?? null,
  call.reason ?? null,
  orNull(call.code),
  call.message?.toWellFormed() ?? null,
  orNull(call.inputDigest),
  call.attempts,
  call.unresolved ? 1 : 0,
  call.requestedAt,
  call.settledAt ?? null,
  call.elapsedMs ?? null,
  call.costMicros,
  orNull(call.userId),
  orNull(call.ruleId),
  ownerId,
  argsText(call.args),
];

const toAuditRow = (position: number, session: number, record: ToolAuditRecord): SqlValue[] => [
  position,
  toSqlText(record.recordId),
  session,
  toSqlText(record.callId),
  toSqlText(record.turnId),
  record.attempt,
  toSqlText(record.toolName),
  record.mode,
  record.outcome.kind,
  record.toolSuccess === undefined ? null : Number(record.toolSuccess),
  record.decidedBy === undefined ? null : toSqlText(`${record.decidedBy.type}:${record.decidedBy.name}`),
  orNull(record.policyVersion),
  orNull(userIdOf(record)),
  record.at,
];
