/**
 * Delegations of approvals: given by verified people for themselves, listed, and revoked. All delegations of a ledger
 * are one state that changes by compare-and-set, so that concurrent changes cannot lose one.
 */
import { checkKeys } from '../base/check-keys.ts';
import { QuittanceError } from '../base/error.ts';
import type { JsonObject } from '../base/json.ts';
import type { Delegation } from '../call/delegation.ts';
import { delegationsIn, isActive, withDelegation, withoutDelegation } from '../call/delegation.ts';
import type { DelegationEvent } from '../call/events/delegation-event.ts';
import type { DirectIdentity } from '../call/identity.ts';
import { isVerified } from '../call/identity.ts';
import { isSameName, namesOf } from '../call/same-identity.ts';
import { delegationsSubject } from '../ledger/last-state.ts';
import { ledgerSessionId } from '../ledger/ledger.ts';
import { readIdentity, mayRevokeDelegation } from './rights.ts';
import { whyRoleForbids } from '../call/role.ts';
import { checkName, checkText, limits } from '../call/limits.ts';
import type { Engine } from './engine.ts';
import { readState } from '../ledger/reads.ts';

/** A delegation as listed. */
export type DelegationView = Delegation & { readonly status: 'active' | 'ended' | 'revoked' };

export type DelegationRequest = {
  /** The person who delegates. */
  readonly by: string;
  /** How the host knows this person. It must be verified: a person delegates only for themselves. */
  readonly identity: DirectIdentity;
  /** The delegate, by a name that `people` of a rule could use. */
  readonly to: string;
  /** When it ends, in milliseconds since 1970 by the ledger's clock. At most 90 days from now. */
  readonly until: number;
  readonly reason?: string;
};

export type DelegationRef = {
  readonly delegationId: string;
  /** The person who revokes it. */
  readonly by: string;
  readonly identity?: DirectIdentity;
  readonly reason?: string;
};

const requestNames = ['by', 'identity', 'to', 'until', 'reason'] as const;
const refNames = ['delegationId', 'by', 'identity', 'reason'] as const;

export async function giveDelegation(engine: Engine, request: DelegationRequest): Promise<DelegationView> {
  const given = readRequest(engine, request);
  for (;;) {
    const { state, version } = await readDelegations(engine);
    const now = engine.ledger.now();
    if (delegationsIn(state).filter((each) => isActive(each, now)).length >= limits.delegation.active)
      refuse(`a ledger has at most ${limits.delegation.active} delegations at a time. Revoke some first.`);
    const kept = await move(engine, version, {
      type: 'delegation.given',
      at: now,
      delegationId: given.delegationId,
      by: given.by,
      identity: given.identity,
      to: given.to,
      until: given.until,
      reason: given.reason,
      state: withDelegation(state, { ...given, givenAt: now }, now),
    });
    if (kept) return toView({ ...given, givenAt: now }, now);
  }
}

/** All delegations that the state still has, oldest first. */
export async function listDelegations(engine: Pick<Engine, 'ledger'>): Promise<readonly DelegationView[]> {
  const { state } = await readDelegations(engine);
  const now = engine.ledger.now();
  return delegationsIn(state).map((each) => toView(each, now));
}

/** Ends a delegation. One that is already revoked stays unchanged. */
export async function revokeDelegation(engine: Engine, ref: DelegationRef): Promise<DelegationView> {
  const where = 'runtime.delegations.revoke';
  checkKeys(where, ref, refNames);
  const by = readName(engine, where, ref.by);
  const identity = readIdentity(where, ref.identity, engine.redactor);
  const reason = readReason(engine, where, ref.reason);
  for (;;) {
    const { state, version } = await readDelegations(engine);
    const found = delegationsIn(state).find(({ delegationId }) => delegationId === ref.delegationId);
    if (found === undefined)
      throw new QuittanceError(
        'delegation.unknown',
        `There is no delegation ${JSON.stringify(String(ref.delegationId).slice(0, 100))} in this ledger. runtime.delegations.list() lists the existing ones.`,
        { delegationId: String(ref.delegationId) },
      );
    if (!mayRevokeDelegation(found, identity))
      throw new QuittanceError(
        'confirmation.forbidden',
        `${by} may not revoke the delegation of ${found.by}: it is neither theirs nor to them, or who they are is not verified. The delegator, the delegate or an admin may.`,
        { by },
      );
    const now = engine.ledger.now();
    if (found.revoked !== undefined) return toView(found, now);
    const revoked = { by, at: now };
    const kept = await move(engine, version, {
      type: 'delegation.revoked',
      at: now,
      delegationId: found.delegationId,
      by,
      identity,
      reason,
      state: withoutDelegation(state, found.delegationId, revoked),
    });
    if (kept) return toView({ ...found, revoked }, now);
  }
}

const toView = (each: Delegation, now: number): DelegationView => ({
  ...each,
  status: each.revoked !== undefined ? 'revoked' : isActive(each, now) ? 'active' : 'ended',
});

const readDelegations = async ({
  ledger,
}: Pick<Engine, 'ledger'>): Promise<{ readonly state: JsonObject; readonly version: number }> =>
  (await readState(ledger, ledgerSessionId, delegationsSubject)) ?? { state: {}, version: 0 };

/** `Omit` of a union, variant by variant. */
type Bare<Event> = Event extends unknown ? Omit<Event, 'id' | 'sessionId' | 'turnId' | 'cause'> : never;

/** Returns false if another process changed the delegations first. */
async function move(
  { ledger, ids, nextEventId }: Engine,
  version: number,
  event: Bare<DelegationEvent>,
): Promise<boolean> {
  const result = await ledger.append({
    entryId: ids.next('ent'),
    sessionId: ledgerSessionId,
    callId: undefined,
    expectedVersion: 0,
    events: [{ ...event, id: nextEventId(), sessionId: ledgerSessionId, turnId: '', cause: undefined }],
    moves: [{ subject: delegationsSubject, expectedVersion: version }],
  });
  return result.status === 'appended';
}

function readRequest(engine: Engine, request: DelegationRequest): Omit<Delegation, 'givenAt'> {
  const where = 'runtime.delegations.give';
  if (typeof request !== 'object' || request === null)
    refuse('a delegation is an object, e.g. { by: "ada", identity, to: "bob", until }.');
  checkKeys(where, request, requestNames);
  const now = engine.ledger.now();
  const identity = readIdentity(where, request.identity, engine.redactor);
  if (!isVerified(identity))
    refuse('only a verified person can delegate: identity must be a token, a provider or an OS user.');
  const why = whyRoleForbids(identity, 'approver');
  if (why !== undefined)
    throw new QuittanceError('confirmation.forbidden', `${request.by} may not delegate: ${why}.`, {
      by: request.by,
    });
  const to = readName(engine, where, request.to, 'to');
  if ([request.by, ...namesOf(identity)].some((name) => isSameName(name, to)))
    refuse('to must be another person.');
  const { until } = request;
  if (!Number.isSafeInteger(until) || until <= now || until > now + limits.delegation.longestMs)
    refuse('until must be a time in milliseconds since 1970, later than now and within 90 days.');
  return {
    delegationId: engine.ids.secret('dlg'),
    by: readName(engine, where, request.by),
    identity,
    to,
    until,
    reason: readReason(engine, where, request.reason),
    revoked: undefined,
  };
}

function readName({ redactor }: Engine, where: string, name: unknown, field?: string): string {
  checkName(where, name, field);
  return redactor.text(name);
}

function readReason({ redactor }: Engine, where: string, reason: string | undefined): string | undefined {
  checkText(where, 'reason', reason, limits.shortReasonChars);
  return reason === undefined ? undefined : redactor.text(reason);
}

function refuse(problem: string): never {
  throw new QuittanceError('config.invalid', `runtime.delegations: ${problem}`);
}
