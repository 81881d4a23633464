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
import type { AcceptedCall } from '../state/accepted-call.ts';
import type { Findings, JudgedCall, ReadyCall } from '../state/call-stages.ts';
import type { Engine } from '../state/engine.ts';
import type { GrantView } from '../host/grant-view.ts';
import { toGrantViews } from '../host/grant-view.ts';
import { refuseGranting } from './refuse-granting.ts';
import { askerAmong, dutiesAreSeparate } from '../host/separate-duties.ts';

/** The grant that answers all of the asks, with a share to reserve; undefined where none does. */
export async function answerByGrant(
  live: JudgedCall,
  asks: readonly Ask[],
): Promise<Pick<Findings, 'grant' | 'shares' | 'asks'> | undefined> {
  if (!asks.every(isAnswerable)) return undefined;
  const { engine, sessionId } = live;
  const stored = await engine.ledger.journal.readState(sessionId, grantsSubject);
  if (stored === undefined) return undefined;
  const now = engine.ledger.now();
  const fitting = grantsIn(stored.state, sessionId)
    .filter((grant) => fits(live, grant, now))
    // What is counted is kept for calls that nothing else covers.
    .toSorted((left, right) => Number(left.uses !== undefined) - Number(right.uses !== undefined));
  const grant = await findUsable(engine, await toGrantViews(engine.ledger, fitting));
  if (grant === undefined) return undefined;
  const { grantId, uses = Number.MAX_SAFE_INTEGER } = grant;
  return {
    grant: { grant, guard: { subject: grantsSubject, expectedVersion: stored.version } },
    shares: [
      ...live.shares,
      { counter: grantCounter(sessionId, grantId), amount: 1, limit: uses, metric: 'tool_calls', grantId },
    ],
    asks: [],
  };
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

function fits(live: ReadyCall, grant: Grant, now: number): boolean {
  if (grant.revoked !== undefined || isPast(grant, now)) return false;
  if (!compileGlob(grant.toolName).matches(live.tool.name)) return false;
  if (isByAsker(live, grant)) return false;
  return grant.where === undefined || permits(grant.where, live.judged);
}

/** What cannot be read any more permits nothing. */
function permits(where: JsonObject, input: JsonObject): boolean {
  const reading = parseArgumentConstraint(where);
  return reading.ok && reading.constraint.holds(input);
}

/** Did the person who asks for the call give the grant? Compared as they were named, and as they are kept. */
function isByAsker(
  { engine, journal: { call }, facts }: AcceptedCall,
  { by, identity = selfAsserted }: Grant,
): boolean {
  if (call === undefined || !dutiesAreSeparate(engine, call)) return false;
  return [call, { ...call, principal: facts.principal }].some(
    (asked) => askerAmong(asked, { by, identity }, engine.redactor) === 'same',
  );
}

/** Whether the grant of a call whose intent is made is over by then. */
export const grantIsPast = ({ grant, journal: { call } }: JudgedCall): boolean =>
  grant !== undefined && isPast(grant.grant, call?.started?.at ?? Number.POSITIVE_INFINITY);
