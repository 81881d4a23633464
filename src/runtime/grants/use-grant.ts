/**
 * A standing permission in the place of a person.
 *
 * 1. It answers what modes, hooks and rules ask, all of it or nothing. It never answers for a twin or for a stage of a
 *    workflow, and a block was heard before it is looked for.
 * 2. It must hold when the intent is kept: the append is guarded by the state the grant was found in, takes one of its
 *    uses, and carries a time before its end. Whoever finds it otherwise goes through the gates again.
 */
import type { JsonObject } from '../../base/json.ts';
import type { Ask } from '../../call/event.ts';
import type { Grant } from '../../call/grant.ts';
import { grantCounter, grantsIn, isPast } from '../../call/grant.ts';
import { selfAsserted } from '../../call/identity.ts';
import { grantsSubject } from '../../ledger/last-state.ts';
import { parseArgumentConstraint } from '../../policy/judge/argument-constraint.ts';
import { compileGlob } from '../../policy/regex/glob.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import type { Engine } from '../state/engine.ts';
import type { GrantView } from '../host/grant-view.ts';
import { toGrantViews } from '../host/grant-view.ts';
import { refuseGranting } from './refuse-granting.ts';
import { askerAmong, dutiesAreSeparate } from '../host/separate-duties.ts';

/** Whether a grant answers all of the asks. It is then in the call's hand, with a share to reserve. */
export async function answerByGrant(hand: CallInHand, asks: readonly Ask[]): Promise<boolean> {
  if (!asks.every(isAnswerable)) return false;
  const { engine, sessionId } = hand;
  const stored = await engine.ledger.journal.readState(sessionId, grantsSubject);
  if (stored === undefined) return false;
  const now = engine.ledger.now();
  const fitting = grantsIn(stored.state, sessionId)
    .filter((grant) => fits(hand, grant, now))
    // What is counted is kept for calls that nothing else covers.
    .toSorted((left, right) => Number(left.uses !== undefined) - Number(right.uses !== undefined));
  const grant = await findUsable(engine, await toGrantViews(engine.ledger, fitting));
  if (grant === undefined) return false;
  const { grantId, uses = Number.MAX_SAFE_INTEGER } = grant;
  hand.grant = { grant, guard: { subject: grantsSubject, expectedVersion: stored.version } };
  hand.shares = [
    ...hand.shares,
    { counter: grantCounter(sessionId, grantId), amount: 1, limit: uses, metric: 'tool_calls', grantId },
  ];
  return true;
}

/**
 * The first that has a use left and whose giver has the right here: it may have been given by a process that did not
 * ask. A port that throws permits nothing.
 */
async function findUsable(engine: Engine, grants: readonly GrantView[]): Promise<GrantView | undefined> {
  for (const grant of grants) {
    if (grant.status !== 'active') continue;
    const isPermitted = await refuseGranting(engine, grant.by, grant, 'give', grant.identity).then(
      () => true,
      () => false,
    );
    if (isPermitted) return grant;
  }
  return undefined;
}

/** What a person may answer beforehand. Whatever is not listed here needs them in person. */
function isAnswerable({ by, code, stage }: Ask): boolean {
  if (code !== undefined || stage !== undefined) return false;
  switch (by.type) {
    case 'hook':
    case 'rule':
      return true;
    case 'gate':
      return by.name === 'mode';
    case 'person':
      return false;
  }
}

function fits(hand: CallInHand, grant: Grant, now: number): boolean {
  if (grant.revoked !== undefined || isPast(grant, now)) return false;
  if (!compileGlob(grant.toolName).matches(hand.knownTool.name)) return false;
  if (isByAsker(hand, grant)) return false;
  return grant.where === undefined || permits(grant.where, hand.judged);
}

/** What cannot be read any more permits nothing. */
function permits(where: JsonObject, input: JsonObject): boolean {
  const reading = parseArgumentConstraint(where);
  return reading.ok && reading.constraint.holds(input);
}

/** Did the person who asks for the call give the grant? Compared as they were named, and as they are kept. */
function isByAsker({ engine, call, facts }: CallInHand, { by, identity = selfAsserted }: Grant): boolean {
  if (call === undefined || !dutiesAreSeparate(engine, call)) return false;
  return [call, { ...call, principal: facts.principal }].some(
    (asked) => askerAmong(asked, { by, identity }, engine.redactor) === 'same',
  );
}

/** Whether the grant of a call whose intent is made is over by then. */
export const grantIsPast = ({ grant, call }: CallInHand): boolean =>
  grant !== undefined && isPast(grant.grant, call?.started?.at ?? Number.POSITIVE_INFINITY);
