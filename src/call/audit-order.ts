/**
 * In which order audit records of one call may follow each other. The runtime, the tests and `verify` read
 * this one table.
 *
 * 1. A call is settled once: by exactly one of completed, blocked, invalidated, or by a cached record that
 *    answers it under a tool-made key. After that it can only be recalled.
 * 2. A failed write changes nothing: what could not be written may still follow, whatever it was.
 */
import type { AuditKind } from './audit.ts';
import { freezeJson } from '../base/json.ts';
import { isAuditKind } from './audit.ts';

/** Where a call stands after its last audit record. `keyed`: answered by another call of the same key. */
export type AuditState = 'start' | 'held' | 'completed' | 'blocked' | 'invalidated' | 'keyed';

/** What may follow in one state, and the state it leads to. What is not named may not follow. */
export type AuditStep = {
  readonly settled: boolean;
  readonly next: { readonly [Kind in AuditKind]?: AuditState };
};

const unsettled = {
  blocked: 'blocked',
  requires_confirmation: 'held',
  invalidated: 'invalidated',
  completed: 'completed',
  cached: 'keyed',
} as const;

/** The legal orders: in each state, the kinds that may follow. */
export const auditOrder: { readonly [State in AuditState]: AuditStep } = freezeJson({
  start: { settled: false, next: { ...unsettled, persistence_failed: 'start' } },
  held: { settled: false, next: { ...unsettled, persistence_failed: 'held' } },
  completed: {
    settled: true,
    next: { cached: 'completed', replayed: 'completed', persistence_failed: 'completed' },
  },
  blocked: { settled: true, next: { cached: 'blocked', persistence_failed: 'blocked' } },
  invalidated: { settled: true, next: { cached: 'invalidated', persistence_failed: 'invalidated' } },
  keyed: { settled: true, next: { cached: 'keyed', persistence_failed: 'keyed' } },
});

/** The kinds that settle a call wherever they stand. A cached record settles only a call nothing else has. */
export const auditTerminalKinds: readonly AuditKind[] = Object.freeze([
  'completed',
  'blocked',
  'invalidated',
] as const);

/** Whether the records of a call stand in a legal order, and if not, which is the first that does not. */
export type AuditOrderCheck =
  { readonly ok: true } | { readonly ok: false; readonly index: number; readonly message: string };

/**
 * Checks the kinds of one call's records, oldest first. Kinds this version does not know are skipped. A call
 * may still be open; say `settled: true` for one that has its outcome, and a missing last record is found too.
 */
export function checkAuditOrder(
  kinds: readonly string[],
  { settled = false }: { readonly settled?: boolean } = {},
): AuditOrderCheck {
  let state: AuditState = 'start';
  for (const [index, kind] of kinds.entries()) {
    if (!isAuditKind(kind)) continue;
    const next: AuditState | undefined = auditOrder[state].next[kind];
    if (next === undefined) return { ok: false, index, message: refusal(kind, state) };
    state = next;
  }
  if (settled && !auditOrder[state].settled)
    return {
      ok: false,
      index: kinds.length,
      message: `The call has its outcome, but no record says so: one of ${auditTerminalKinds.join(', ')} or cached is missing.`,
    };
  return { ok: true };
}

function refusal(kind: AuditKind, state: AuditState): string {
  const allowed = Object.keys(auditOrder[state].next).join(', ');
  const where = stateNames[state];
  return auditOrder[state].settled && auditTerminalKinds.includes(kind)
    ? `A second end: "${kind}" may not follow, the call was settled already (${where}). Allowed here: ${allowed}.`
    : `"${kind}" may not stand ${where}. Allowed here: ${allowed}.`;
}

const stateNames: { readonly [State in AuditState]: string } = {
  start: 'at the start of a call',
  held: 'after requires_confirmation',
  completed: 'after completed',
  blocked: 'after blocked',
  invalidated: 'after invalidated',
  keyed: 'after a cached record that answered the call',
};
