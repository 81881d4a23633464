/**
 * The legal order of the audit records of one call. The runtime, the tests and `verify` read this one table.
 *
 * 1. A call is settled once: by exactly one of completed, blocked, invalidated, or by a cached record for a
 *    call with the same key. After that it can only be recalled.
 * 2. A failed write changes nothing: any record that could not be written may still follow.
 */
import type { AuditKind } from './audit.ts';
import { freezeJson } from '../base/json.ts';
import { isAuditKind } from './audit.ts';

/** The state of a call after its last audit record. `keyed`: answered by another call with the same key. */
export type AuditState = 'start' | 'held' | 'completed' | 'blocked' | 'invalidated' | 'keyed';

/** The kinds that may follow in one state, each with its next state. Any other kind may not follow. */
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

/** The kinds that settle a call in any state. A cached record settles only a call without another end. */
export const auditTerminalKinds: readonly AuditKind[] = Object.freeze([
  'completed',
  'blocked',
  'invalidated',
] as const);

/** Result of checking the order of a call's records. Names the first record that is out of order. */
export type AuditOrderCheck =
  | { readonly ok: true }
  | { readonly ok: false; readonly index: number; readonly message: string };

/**
 * Checks the kinds of one call's records, oldest first. Skips kinds that this version does not know. A call
 * may still be open. With `settled: true` a missing last record is found too.
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
