/**
 * Standing grants: given, listed and revoked by named people, made from approvals "for this session", and used in place of
 * an approval. All grants of a session are one state that changes by compare-and-set, so that concurrent changes cannot
 * lose a grant or a revocation.
 */
import { QuittanceError } from '../base/error.ts';
import { isDotSegment } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import { isJsonObject, toJson } from '../base/json.ts';
import type { DirectIdentity, Identity } from '../call/identity.ts';
import type { GrantEvent, GrantGiven } from '../call/events/grant-event.ts';
import type { Grant, GrantVote } from '../call/grant.ts';
import { grantsIn, isPast, withGrant, withoutGrant, grantCounter } from '../call/grant.ts';
import { grantsSubject } from '../ledger/last-state.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { parseArgumentConstraint } from '../policy/judge/argument-constraint.ts';
import { compileGlob } from '../policy/regex/glob.ts';
import {
  readIdentity,
  askerAmong,
  dutiesAreSeparate,
  withPrincipal,
  isAmong,
  combineRelations,
  sessionOwners,
} from './rights.ts';
import { whyRoleForbids } from '../call/role.ts';
import { checkKeys } from '../base/check-keys.ts';
import type { Engine } from './engine.ts';
import type { GrantView } from './views.ts';
import { toGrantViews } from './views.ts';
import { checkName, checkText, limits } from '../call/limits.ts';
import { currentGrant, readRights } from './approvers.ts';
import type { Call } from '../call/call.ts';
import type { Ask } from '../call/events/confirmation-event.ts';
import type { CallEvent } from '../call/event.ts';
import type { SessionBounds } from '../call/session-bounds.ts';
import { isApproval, isQuorumComplete, hasPolicy } from '../call/quorum.ts';
import { countedIdentity } from '../call/counted-identity.ts';
import type { Move } from '../ledger/journal.ts';
import { isAnswerable } from '../call/call.ts';
import { selfAsserted } from '../call/identity.ts';
import type { ActiveCall, CheckedCall, Findings } from './active-call.ts';
import type { DecidedBy } from '../call/events/gate-event.ts';
import type { Vote } from '../call/vote.ts';
import { readState } from '../ledger/reads.ts';

/** A permission in advance. */
export type GrantRequest = {
  readonly sessionId: string;
  /** Exact name or glob. */
  readonly toolName: string;
  /**
   * A condition on the arguments in the language of contracts: `{ 'args.cents': { lte: 500 } }`, `all`,
   * `any`, `not`. A missing value or one of another type never satisfies it.
   */
  readonly where?: JsonObject;
  /** When it ends, in milliseconds since 1970 by the ledger's clock. Default: with the session. */
  readonly until?: number;
  /** Duration from now, instead of `until`. */
  readonly forMs?: number;
  /** How many calls it approves. Default: any number. */
  readonly uses?: number;
  /** The person who gives it. */
  readonly by: string;
  /** How the host knows this person. Without it, the name counts as self-asserted. */
  readonly identity?: DirectIdentity;
  readonly reason?: string;
};

export type GrantQuery = {
  readonly sessionId: string;
  /** `true`: only grants that can still approve a call. `false`: only the others. */
  readonly active?: boolean;
};

export type GrantRef = {
  readonly sessionId: string;
  readonly grantId: string;
  /** The person who revokes it. */
  readonly by: string;
  readonly identity?: DirectIdentity;
  readonly reason?: string;
};

const requestNames = [
  'sessionId',
  'toolName',
  'where',
  'until',
  'forMs',
  'uses',
  'by',
  'identity',
  'reason',
] as const;
const refNames = ['sessionId', 'grantId', 'by', 'identity', 'reason'] as const;
const queryNames = ['sessionId', 'active'] as const;

export async function giveGrant(engine: Engine, request: GrantRequest): Promise<GrantView> {
  const { ledger } = engine;
  const grant = readRequest(engine, request);
  await refuseGranting(engine, request.by, { ...grant, status: 'active', used: 0 }, 'give', grant.identity);
  for (;;) {
    const { state, version } = await readGrants(engine, grant.sessionId);
    const now = ledger.now();
    if (isPast(grant, now)) refuse('runtime.grants.give', 'until is in the past.');
    const given = { ...grant, givenAt: now };
    const active = grantsIn(state, grant.sessionId).filter(
      (each) => each.revoked === undefined && !isPast(each, now),
    );
    if (active.length >= limits.grant.active)
      refuse(
        'runtime.grants.give',
        `a session has at most ${limits.grant.active} grants at a time. Revoke some first.`,
      );
    const kept = await move(engine, grant.sessionId, version, {
      type: 'grant.given',
      at: now,
      grantId: grant.grantId,
      by: grant.by,
      ...(grant.identity !== undefined && { identity: grant.identity }),
      state: withGrant(state, given, now),
    });
    if (kept) return { ...given, status: 'active', used: 0 };
  }
}

/** The grants of a session, oldest first. */
export async function listGrants(
  engine: Pick<Engine, 'ledger'>,
  query: GrantQuery,
): Promise<readonly GrantView[]> {
  checkKeys('runtime.grants.list', query, queryNames);
  const { sessionId, active } = query;
  const { state } = await readGrants(engine, sessionId);
  const views = await suspended(engine.ledger, await toGrantViews(engine.ledger, grantsIn(state, sessionId)));
  return active === undefined ? views : views.filter(({ status }) => (status === 'active') === active);
}

/** The grants, with the status `suspended` for those whose givers have lost the right. */
async function suspended(ledger: Ledger, views: readonly GrantView[]): Promise<readonly GrantView[]> {
  if (!views.some(({ status }) => status === 'active')) return views;
  const rights = await readRights(ledger);
  return views.map((view) => {
    const current = view.status === 'active' ? currentGrant(rights, view) : view;
    return typeof current === 'string' ? { ...view, status: 'suspended', why: current } : view;
  });
}

/** Revokes a grant. A grant that is already revoked stays unchanged. */
export async function revokeGrant(engine: Engine, ref: GrantRef): Promise<GrantView> {
  checkKeys('runtime.grants.revoke', ref, refNames);
  const { sessionId, grantId } = ref;
  const by = readName(engine, 'runtime.grants.revoke', ref.by);
  const identity = readIdentity('runtime.grants.revoke', ref.identity, engine.redactor);
  const reason = readReason(engine, 'runtime.grants.revoke', ref.reason);
  for (;;) {
    const { state, version } = await readGrants(engine, sessionId);
    const [found] = await toGrantViews(
      engine.ledger,
      grantsIn(state, sessionId).filter((grant) => grant.grantId === grantId),
    );
    if (found === undefined)
      throw new QuittanceError(
        'grant.unknown',
        `There is no grant ${String(grantId)} in session ${String(sessionId)}. runtime.grants.list({ sessionId }) lists the existing ones.`,
        { grantId: String(grantId), sessionId: String(sessionId) },
      );
    if (found.revoked !== undefined) return found;
    await refuseGranting(engine, ref.by, found, 'revoke', identity);
    const now = engine.ledger.now();
    const revoked = { by, identity, at: now, reason };
    const kept = await move(engine, sessionId, version, {
      type: 'grant.revoked',
      at: now,
      grantId,
      by,
      identity,
      reason,
      state: withoutGrant(state, grantId, revoked),
    });
    if (kept) return { ...found, revoked, status: 'revoked' };
  }
}

type Found = { readonly state: JsonObject; readonly version: number };

const readGrants = async ({ ledger }: Pick<Engine, 'ledger'>, sessionId: string): Promise<Found> =>
  (await readState(ledger, sessionId, grantsSubject)) ?? { state: {}, version: 0 };

/** `Omit` of a union, variant by variant. */
type Bare<Event> = Event extends unknown ? Omit<Event, 'id' | 'sessionId' | 'turnId' | 'cause'> : never;

/** Returns false if another process changed the grants of the session first. */
async function move(
  { ledger, ids, nextEventId }: Engine,
  sessionId: string,
  version: number,
  event: Bare<GrantEvent>,
): Promise<boolean> {
  const result = await ledger.append({
    entryId: ids.next('ent'),
    sessionId,
    callId: undefined,
    expectedVersion: 0,
    events: [{ ...event, id: nextEventId(), sessionId, turnId: '', cause: undefined }],
    moves: [{ subject: grantsSubject, expectedVersion: version }],
  });
  return result.status === 'appended';
}

function readRequest(engine: Engine, request: GrantRequest): Grant {
  const where = 'runtime.grants.give';
  if (typeof request !== 'object' || request === null)
    refuse(
      where,
      'a grant is an object, e.g. { sessionId, toolName: "refund", forMs: 3_600_000, by: "ada" }.',
    );
  checkKeys(where, request, requestNames);
  const { sessionId, toolName, until, forMs, uses } = request;
  const now = engine.ledger.now();
  if (typeof sessionId !== 'string' || sessionId === '')
    refuse(where, 'sessionId must be the id of a session.');
  // Turns refuse such ids too, and a store would confuse the session with another.
  if (!sessionId.isWellFormed()) refuse(where, 'sessionId holds half a character (a lone surrogate).');
  if (isDotSegment(sessionId)) refuse(where, 'sessionId may not be "." or "..".');
  if (typeof toolName !== 'string' || toolName === '' || toolName.length > limits.grant.toolNameChars)
    refuse(where, 'toolName must be the name of a tool, or a glob such as "mail_*".');
  if (until !== undefined && forMs !== undefined) refuse(where, 'give until or forMs, not both.');
  if (until !== undefined && !Number.isSafeInteger(until))
    refuse(where, 'until must be a time in milliseconds since 1970.');
  if (forMs !== undefined && !(Number.isSafeInteger(forMs) && forMs > 0 && Number.isSafeInteger(now + forMs)))
    refuse(where, 'forMs must be a whole number of milliseconds, at least 1.');
  if (uses !== undefined && !(Number.isSafeInteger(uses) && uses > 0))
    refuse(where, 'uses must be a whole number of at least 1.');
  return {
    grantId: engine.ids.secret('grt'),
    sessionId,
    toolName,
    where: request.where === undefined ? undefined : readWhere(engine, toolName, request.where),
    until: forMs === undefined ? until : now + forMs,
    uses,
    by: readName(engine, where, request.by),
    identity: readIdentity(where, request.identity, engine.redactor),
    reason: readReason(engine, where, request.reason),
    givenAt: now,
    revoked: undefined,
    approved: undefined,
  };
}

/** Conditions are stored in plain text, so they must not contain a value that is hidden elsewhere. */
function readWhere(engine: Engine, toolName: string, given: unknown): JsonObject {
  const read = toJson(given, { refuseUnsafeIntegers: true });
  if (!read.ok || !isJsonObject(read.value) || JSON.stringify(read.value).length > limits.grant.whereChars)
    return refuse(
      'runtime.grants.give',
      `where must be an object of at most ${limits.grant.whereChars} characters of JSON, e.g. { "args.cents": { "lte": 500 } }.`,
    );
  const reading = parseArgumentConstraint(read.value);
  if (!reading.ok) return refuse('runtime.grants.give', reading.problems.join('\n'));
  const isMeant = compileGlob(toolName).matches;
  const paths = [...engine.tools.values()]
    .filter(({ name }) => isMeant(name))
    .flatMap(({ redact }) => redact?.input ?? []);
  for (const sample of reading.constraint.samples) {
    const { hidden } = engine.redactor.input(sample, paths);
    if (hidden.length > 0)
      refuse(
        'runtime.grants.give',
        `where compares ${hidden.join(', ')} with a value that is hidden there, and a grant is stored in plain text.`,
      );
  }
  return read.value;
}

function readName({ redactor }: Engine, where: string, by: unknown): string {
  checkName(where, by);
  return redactor.text(by);
}

function readReason({ redactor }: Engine, where: string, reason: string | undefined): string | undefined {
  checkText(where, 'reason', reason, limits.shortReasonChars);
  return reason === undefined ? undefined : redactor.text(reason);
}

function refuse(where: string, problem: string): never {
  throw new QuittanceError('config.invalid', `${where}: ${problem}`);
}

/** Identifies the asks that a grant for the session answers: those of the same unchanged rule or the same gate. */
const askKey = ({ by, digest, description }: Ask): string =>
  JSON.stringify([by.type, by.name, digest ?? description]);

/** The grant made from the approvals of a call, without a giver. */
export function draftGrant(
  { ids, ledger }: Pick<Engine, 'ids' | 'ledger'>,
  { sessionId, toolName, callId, confirmation }: Call,
  { until, uses }: SessionBounds,
): Grant {
  const votes = (confirmation?.votes ?? []).filter((vote) => isApproval(vote) && vote.session !== undefined);
  return {
    grantId: ids.secret('grt'),
    sessionId,
    toolName,
    where: undefined,
    until,
    uses,
    by: '',
    identity: undefined,
    reason: undefined,
    givenAt: ledger.now(),
    revoked: undefined,
    approved: {
      callId,
      askedAt: confirmation?.askedAt ?? ledger.now(),
      asks: (confirmation?.asks ?? []).map(askKey),
      votes: votes.map(({ by, at }) => ({ by, at })),
    },
  };
}

/**
 * The grant to store with the decision that approved the call. None if too few of the approvers agreed to one. Its
 * bounds are the narrowest that any of them stated.
 */
export async function grantOf(
  engine: Engine,
  call: Call,
  cause: Pick<CallEvent, 'id'>,
): Promise<readonly { readonly event: GrantGiven; readonly move: Move }[]> {
  const { confirmation, sessionId } = call;
  if (confirmation === undefined) return [];
  const agreed = confirmation.votes.filter((vote) => isApproval(vote) && vote.session !== undefined);
  const last = agreed.at(-1);
  if (last === undefined || !isQuorumComplete(confirmation, agreed)) return [];
  const bounds = agreed.flatMap(({ session }) => session ?? []);
  // A delegate grants nothing beyond the end of the delegation.
  const delegations = agreed.flatMap(({ by: { behalf = [] } }) => behalf);
  const until = Math.min(...[...bounds, ...delegations].map((each) => each.until));
  const uses = Math.min(...bounds.map((each) => each.uses));
  const by = last.by.name;
  const identity = countedIdentity(last.by.identity);
  const grant = { ...draftGrant(engine, call, { until, uses }), by, identity };
  const now = engine.ledger.now();
  const stored = await readState(engine.ledger, sessionId, grantsSubject);
  return [
    {
      move: { subject: grantsSubject, expectedVersion: stored?.version ?? 0 },
      event: {
        id: engine.nextEventId(),
        type: 'grant.given',
        sessionId,
        turnId: call.turnId,
        at: now,
        cause: cause.id,
        grantId: grant.grantId,
        by,
        identity,
        state: withGrant(stored?.state ?? {}, grant, now),
      },
    },
  ];
}

/**
 * With `mayDecide` but no `mayGrant`, grants are disabled: a grant is a decision about all later calls.
 * Revoking is always allowed.
 */
export async function refuseGranting(
  { mayDecide, mayGrant }: Pick<Engine, 'mayDecide' | 'mayGrant'>,
  actor: string,
  grant: GrantView,
  action: 'give' | 'revoke',
  identity: Identity | undefined,
): Promise<void> {
  const forbid = (why: string): never => {
    throw new QuittanceError(
      'confirmation.forbidden',
      `${actor} may not ${action} a grant for ${JSON.stringify(grant.toolName)}: ${why}.`,
      { by: actor, grantId: grant.grantId },
    );
  };
  const role = identity && whyRoleForbids(identity, 'approver');
  if (role !== undefined) forbid(role);
  if (mayGrant === undefined) {
    if (mayDecide === undefined || action === 'revoke') return;
    forbid('the runtime has mayDecide but no mayGrant, so grants are disabled');
  }
  const allowed: unknown = await mayGrant?.(actor, grant, action, identity);
  if (allowed !== true)
    forbid(typeof allowed === 'string' && allowed !== '' ? allowed : 'denied by mayGrant');
}

/**
 * Finds the grant that answers all asks of a call, with a share to reserve. Undefined if there is none.
 *
 * 1. It answers all asks of modes, hooks and rules, or none. It never answers for a twin or a workflow stage,
 *    and a block always comes first.
 * 2. If a rule says who must approve, the givers of the grant must satisfy that rule for this very call. A grant that
 *    people gave by approving a call answers only the asks that they saw.
 * 3. Every giver must still have the right to give it: a token that is valid, a role, a group that a rule needs.
 * 4. It must still be valid when the intent is stored. The append requires the state in which the grant was found,
 *    reserves one of its uses, and must precede its end. If this fails, the call passes the gates again.
 */
export async function answerByGrant(
  active: CheckedCall,
  asks: readonly Ask[],
): Promise<Pick<Findings, 'grant' | 'shares' | 'asks'> | undefined> {
  if (!asks.every(isAnswerable)) return undefined;
  const { engine, sessionId } = active;
  const stored = await readState(engine.ledger, sessionId, grantsSubject);
  if (stored === undefined) return undefined;
  const now = engine.ledger.now();
  const given = grantsIn(stored.state, sessionId).filter((grant) => fits(active, grant, now));
  if (given.length === 0) return undefined;
  const rights = await readRights(engine.ledger);
  const covering: Grant[] = [];
  for (const each of given) {
    const grant = currentGrant(rights, each);
    if (typeof grant !== 'string' && (await coversAsks(active, grant, asks))) covering.push(grant);
  }
  const fitting = covering
    // Grants with a limited number of uses come last.
    .toSorted((left, right) => Number(left.uses !== undefined) - Number(right.uses !== undefined));
  const usable = await findUsable(engine, await toGrantViews(engine.ledger, fitting));
  // The record has the grant as it was given.
  const grant = given.find(({ grantId }) => grantId === usable?.grantId);
  if (grant === undefined) return undefined;
  const { grantId, uses = Number.MAX_SAFE_INTEGER } = grant;
  return {
    grant: { grant, guard: { subject: grantsSubject, expectedVersion: stored.version } },
    shares: [
      ...active.shares,
      { counter: grantCounter(sessionId, grantId), amount: 1, limit: uses, metric: 'tool_calls', grantId },
    ],
    asks: [],
  };
}

/**
 * The first grant that has a use left, and whose givers all still have the permission. A process without `mayGrant` may
 * have stored the grant. A `mayGrant` that throws permits nothing.
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

function fits(active: CheckedCall, grant: Grant, now: number): boolean {
  if (grant.revoked !== undefined || isPast(grant, now)) return false;
  const { approved, toolName } = grant;
  if (
    approved === undefined ? !compileGlob(toolName).matches(active.tool.name) : toolName !== active.tool.name
  )
    return false;
  if (isByAsker(active, grant)) return false;
  return grant.where === undefined || permits(grant.where, active.judged);
}

/** A condition that can no longer be parsed permits nothing. */
function permits(where: JsonObject, input: JsonObject): boolean {
  const reading = parseArgumentConstraint(where);
  return reading.ok && reading.constraint.holds(input);
}

/** True if the requester of the call gave the grant. Compares the exact and the stored form of the names. */
function isByAsker(
  { engine, journal: { call }, facts }: ActiveCall,
  { by, identity = selfAsserted }: Grant,
): boolean {
  if (call === undefined || !dutiesAreSeparate(engine, call)) return false;
  return [call, withPrincipal(call, facts.principal)].some(
    (asked) => askerAmong(asked, { by, identity }, engine.redactor) === 'same',
  );
}

/** True if the grant has ended by the time of the intent. */
export const grantIsPast = ({ grant, journal: { call } }: CheckedCall): boolean =>
  grant !== undefined && isPast(grant.grant, call?.started?.at ?? Number.POSITIVE_INFINITY);

/**
 * True if the givers of the grant satisfy every ask of this call. They are compared with the requester of this call and
 * the owner of its session, not with those of the call that they approved.
 */
async function coversAsks(active: ActiveCall, grant: Grant, asks: readonly Ask[]): Promise<boolean> {
  const { approved, givenAt } = grant;
  if (approved !== undefined && !asks.every((ask) => approved.asks.includes(askKey(ask)))) return false;
  if (!hasPolicy(asks)) return true;
  const given = approved?.votes ?? [{ by: giverOf(grant), at: givenAt }];
  const votes: Vote[] = [];
  for (const vote of given) votes.push(await asVote(active, vote));
  return isQuorumComplete({ asks, askedAt: approved?.askedAt ?? givenAt }, votes);
}

const giverOf = ({ by, identity = selfAsserted }: Grant): DecidedBy => ({
  type: 'person',
  name: by,
  identity,
});

async function asVote(
  { engine, journal, facts, sessionId }: ActiveCall,
  { by, at }: GrantVote,
): Promise<Vote> {
  const { call } = journal;
  const owners = await sessionOwners(engine.ledger, sessionId);
  const people = [
    { by: by.name, identity: by.identity ?? selfAsserted },
    ...(by.behalf ?? []).map(({ name, identity }) => ({ by: name, identity })),
  ];
  const forms = call === undefined ? [] : [call, withPrincipal(call, facts.principal)];
  const asker = combineRelations(
    forms.flatMap((asked) => people.map((person) => askerAmong(asked, person, engine.redactor))),
  );
  const owner = combineRelations(people.map((person) => isAmong(owners, person, engine.redactor)));
  return { decision: 'approve', by: { ...by, asker, owner }, at, reason: undefined };
}
