/**
 * A standing grant replaces the approval of a person.
 *
 * 1. It answers all asks of modes, hooks and rules, or none. It never answers for a twin or a workflow stage,
 *    and a block always comes first.
 * 2. If a rule says who must approve, the givers of the grant must satisfy that rule for this very call. A grant that
 *    people gave by approving a call answers only the asks that they saw.
 * 3. It must still be valid when the intent is stored. The append checks the state in which the grant was
 *    found, takes one of its uses, and has a time before its end. If the check fails, the call passes the
 *    gates again.
 */
import type { JsonObject } from '../../base/json.ts';
import { isAnswerable } from '../../call/is-answerable.ts';
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
import { askerAmong, dutiesAreSeparate, withPrincipal } from '../host/separate-duties.ts';
import { coversAsks } from './covers-asks.ts';

/** The grant that answers all asks, with a share to reserve, or undefined. */
export async function answerByGrant(
  live: JudgedCall,
  asks: readonly Ask[],
): Promise<Pick<Findings, 'grant' | 'shares' | 'asks'> | undefined> {
  if (!asks.every(isAnswerable)) return undefined;
  const { engine, sessionId } = live;
  const stored = await engine.ledger.journal.readState(sessionId, grantsSubject);
  if (stored === undefined) return undefined;
  const now = engine.ledger.now();
  const covering: Grant[] = [];
  for (const grant of grantsIn(stored.state, sessionId))
    if (fits(live, grant, now) && (await coversAsks(live, grant, asks))) covering.push(grant);
  const fitting = covering
    // Grants with a limited number of uses come last.
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
 * The first grant that has a use left, and whose givers all still have the permission. A process without this check
 * may have stored it. A port that throws permits nothing.
 */
async function findUsable(engine: Engine, grants: readonly GrantView[]): Promise<GrantView | undefined> {
  for (const grant of grants) {
    if (grant.status !== 'active') continue;
    const { approved, by: name, identity } = grant;
    const givers = approved?.votes.map(({ by }) => by) ?? [{ name, identity }];
    const refusals = givers.map((giver) =>
      refuseGranting(engine, giver.name, grant, 'give', giver.identity).then(
        () => false,
        () => true,
      ),
    );
    if (!(await Promise.all(refusals)).includes(true)) return grant;
  }
  return undefined;
}

function fits(live: ReadyCall, grant: Grant, now: number): boolean {
  if (grant.revoked !== undefined || isPast(grant, now)) return false;
  const { approved, toolName } = grant;
  if (approved === undefined ? !compileGlob(toolName).matches(live.tool.name) : toolName !== live.tool.name)
    return false;
  if (isByAsker(live, grant)) return false;
  return grant.where === undefined || permits(grant.where, live.judged);
}

/** A condition that can no longer be parsed permits nothing. */
function permits(where: JsonObject, input: JsonObject): boolean {
  const reading = parseArgumentConstraint(where);
  return reading.ok && reading.constraint.holds(input);
}

/** Did the requester of the call give the grant? Compares the exact and the stored form of the names. */
function isByAsker(
  { engine, journal: { call }, facts }: AcceptedCall,
  { by, identity = selfAsserted }: Grant,
): boolean {
  if (call === undefined || !dutiesAreSeparate(engine, call)) return false;
  return [call, withPrincipal(call, facts.principal)].some(
    (asked) => askerAmong(asked, { by, identity }, engine.redactor) === 'same',
  );
}

/** Has the grant ended by the time of the intent? */
export const grantIsPast = ({ grant, journal: { call } }: JudgedCall): boolean =>
  grant !== undefined && isPast(grant.grant, call?.started?.at ?? Number.POSITIVE_INFINITY);
