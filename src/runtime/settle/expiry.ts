/** When a question expires, and what happens then. One time limit covers the decision and its use. */
import type { Confirmation } from '../../call/call.ts';
import type { Ask, DecidedBy } from '../../call/event.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import type { EndedCall } from '../state/call-stages.ts';
import { settleStopped } from './settle.ts';

export type Expiry = {
  readonly expiresAt: number | undefined;
  readonly timeoutEffect: 'block' | 'allow';
};

/**
 * The earliest expiry of all asks and of the preview; those without an expiry do not extend it. Quiet hours extend the
 * time for people, not the life of a preview. After the expiry the call runs only if every ask says `allow`.
 */
export function expiryOf(live: AcceptedCall, asks: readonly Ask[]): Expiry {
  const now = live.engine.ledger.now();
  const preview = live.journal.call?.preview?.expiresAt;
  const { holdTimeoutMs, quietTimes } = live.engine;
  const limits = asks.flatMap(({ timeoutSeconds }) => {
    const afterMs = timeoutSeconds === undefined ? holdTimeoutMs : timeoutSeconds * 1_000;
    return afterMs === undefined ? [] : [quietTimes.addWakingTime(now, afterMs)];
  });
  if (preview !== undefined) limits.push(preview);
  return {
    expiresAt: limits.length === 0 ? undefined : Math.min(...limits),
    // An expired preview must not be carried out: it may be wrong by then.
    timeoutEffect:
      preview === undefined && asks.every(({ timeoutEffect }) => timeoutEffect === 'allow')
        ? 'allow'
        : 'block',
  };
}

const dayMs = 24 * 60 * 60 * 1_000;

/** How long a question waits if no rule or hook sets a time. Undefined means for ever. */
export const readHoldTimeout = (given: number | 'none' = dayMs): number | undefined =>
  given === 'none' ? undefined : given;

/** Has the question, or the approval, expired? */
export const isExpired = ({ expiresAt }: Pick<Confirmation, 'expiresAt'>, now: number): boolean =>
  expiresAt !== undefined && now >= expiresAt;

/** Has an approval by a person expired? A call that a rule allowed after the expiry stays allowed. */
export const isUsedTooLate = (
  confirmation: Pick<Confirmation, 'expiresAt' | 'status' | 'decision'>,
  now: number,
): boolean =>
  confirmation.status === 'approved' && confirmation.decision !== undefined && isExpired(confirmation, now);

/** Did the question expire, and does its rule let the call run then? */
export const isAllowedByExpiry = (asked: Pick<Confirmation, 'status' | 'decision'> | undefined): boolean =>
  asked?.status === 'approved' && asked.decision === undefined;

/** The rule that lets a call run after its question expired. */
export const allowedBy = ({ asks }: Confirmation): DecidedBy | undefined =>
  asks.find(({ timeoutEffect }) => timeoutEffect === 'allow')?.by;

/** Ends a call whose question expired. The outcome differs from a person's denial. */
export function settleExpired(live: EndedCall, { confirmationId }: Confirmation): Promise<ToolOutcome> {
  live.journal.apply({ type: 'expire', confirmationId, effect: 'block', by: undefined });
  return replyExpired(live);
}

export function replyExpired(live: EndedCall): Promise<ToolOutcome> {
  const asked = live.journal.call?.confirmation;
  const what = asked?.decision === undefined ? 'No person decided' : 'The approval was not used';
  const waitedFor = asked === undefined ? '' : ` It waited for a person: ${asked.description}`;
  return settleStopped(live, {
    type: 'deny',
    reason: 'expired',
    code: 'confirmation.expired',
    details: `${what} before the time was up.${waitedFor}`,
  });
}
