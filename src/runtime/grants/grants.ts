/**
 * Standing grants: given, listed and revoked by named people. All grants of a session are one state that
 * moves by compare-and-set, so that concurrent changes cannot lose a grant or a revocation.
 */
import { QuittanceError } from '../../base/error.ts';
import { isDotSegment } from '../../base/dot-segment.ts';
import type { JsonObject } from '../../base/json.ts';
import { isJsonObject, toJson } from '../../base/json.ts';
import type { DirectIdentity, GrantEvent } from '../../call/event.ts';
import type { Grant } from '../../call/grant.ts';
import { grantsIn, isPast, withGrant, withoutGrant } from '../../call/grant.ts';
import { grantsSubject } from '../../ledger/last-state.ts';
import { parseArgumentConstraint } from '../../policy/judge/argument-constraint.ts';
import { compileGlob } from '../../policy/regex/glob.ts';
import { readIdentity } from '../host/acting.ts';
import { checkKeys } from '../../base/check-keys.ts';
import type { Engine } from '../state/engine.ts';
import type { GrantView } from '../host/grant-view.ts';
import { toGrantViews } from '../host/grant-view.ts';
import { limits } from '../host/limits.ts';
import { refuseGranting } from './refuse-granting.ts';

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
    if (active.length >= limits.activeGrants)
      refuse(
        'runtime.grants.give',
        `a session has at most ${limits.activeGrants} grants at a time. Revoke some first.`,
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
  const views = await toGrantViews(engine.ledger, grantsIn(state, sessionId));
  return active === undefined ? views : views.filter(({ status }) => (status === 'active') === active);
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
  (await ledger.journal.readState(sessionId, grantsSubject)) ?? { state: {}, version: 0 };

/** `Omit` of a union, variant by variant. */
type Bare<Event> = Event extends unknown ? Omit<Event, 'id' | 'sessionId' | 'turnId' | 'cause'> : never;

/** Returns false if another process changed the grants of the session first. */
async function move(
  { ledger, ids, nextEventId }: Engine,
  sessionId: string,
  version: number,
  event: Bare<GrantEvent>,
): Promise<boolean> {
  const result = await ledger.journal.append({
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
  if (typeof toolName !== 'string' || toolName === '' || toolName.length > limits.shortReasonChars)
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
  if (!read.ok || !isJsonObject(read.value) || JSON.stringify(read.value).length > limits.grantWhereChars)
    return refuse(
      'runtime.grants.give',
      `where must be an object of at most ${limits.grantWhereChars} characters of JSON, e.g. { "args.cents": { "lte": 500 } }.`,
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
  if (typeof by !== 'string' || by.trim() === '' || by.length > limits.shortReasonChars)
    return refuse(where, 'a grant needs a name: by must be who gives it or takes it back.');
  return redactor.text(by);
}

function readReason({ redactor }: Engine, where: string, reason: unknown): string | undefined {
  if (reason === undefined) return undefined;
  if (typeof reason !== 'string' || reason.length > limits.shortReasonChars)
    return refuse(where, `reason must be a text of at most ${limits.shortReasonChars} characters.`);
  return redactor.text(reason);
}

function refuse(where: string, problem: string): never {
  throw new QuittanceError('config.invalid', `${where}: ${problem}`);
}
