/**
 * Permissions: who may run calls, who may end a delegation, who owns a session, and whether the requester of a
 * call takes part in a decision about it. Transports only call these functions.
 */
import { QuittanceError } from '../base/error.ts';
import { personNames } from '../call/fits-seat.ts';
import type { DirectIdentity, Identity } from '../call/identity.ts';
import { identityAllows, neededToCall, refuseRole } from '../call/role.ts';
import type { Delegation } from '../call/delegation.ts';
import { isSameIdentity, directOf, namesOf, isComparable, isSameName } from '../call/same-identity.ts';
import type { JsonObject } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import type { Redactor } from '../base/redaction.ts';
import type { Call } from '../call/call.ts';
import type { DecidedBy, ToolRequested } from '../call/events/gate-event.ts';
import { readDirectIdentity, selfAsserted } from '../call/identity.ts';
import type { SessionForked, TurnOpened } from '../call/events/session-event.ts';
import { isKnownEvent } from '../ledger/formats/v1/event-table.ts';
import { readEntry } from '../ledger/formats/v1/read-entry.ts';
import type { StoredEntry } from '../ledger/stored-entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { readUndoAttrs, undoneToolName } from './undo-tool.ts';

/** Throws unless the roles of a worker let it run calls. */
export const refuseWorker = (identity: DirectIdentity): void => refuseRole(identity, 'operator', 'run calls');

/** Throws unless the roles of the caller let it call the tool. An unknown tool runs nothing. */
export function refuseCaller(
  askedBy: DirectIdentity | undefined,
  tool: { readonly name: string; readonly surelyReads: boolean } | undefined,
): void {
  if (tool !== undefined) refuseRole(askedBy, neededToCall(tool), `call ${tool.name}`);
}

/**
 * True if the person may end the delegation: the delegator, the delegate and admins may. Only exact names of a verified
 * identity count.
 */
export function mayRevokeDelegation(
  { identity, to }: Pick<Delegation, 'identity' | 'to'>,
  own: DirectIdentity,
): boolean {
  if (own.kind === 'self_asserted') return false;
  if (identityAllows(own, 'admin')) return true;
  const names = personNames(own);
  return (
    names.includes(to) ||
    isSameIdentity(identity, own) ||
    (identity.kind === own.kind && personNames(identity).some((name) => names.includes(name)))
  );
}

/** The person or program that acts: a name, and how the host knows it. */
export type Acting = { readonly by: string; readonly identity: Identity };

/** Reads an identity from the host. A name without one is self-asserted. Throws if it is malformed. */
export function readIdentity(where: string, given: unknown, redactor: Redactor): DirectIdentity {
  if (given === undefined) return selfAsserted;
  const identity = readDirectIdentity(given);
  if (identity === undefined)
    throw new QuittanceError(
      'config.invalid',
      `${where}: identity must be one of { kind: 'token', id, name, via }, { kind: 'os_user', user, uid }, { kind: 'provider', issuer, subject, method } and { kind: 'self_asserted' }.`,
    );
  return redactIdentity(identity, redactor);
}

/** An identity is stored for ever, so it is redacted like a name. */
function redactIdentity<Given extends Identity>(identity: Given, redactor: Redactor): Given {
  const clean = (value: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(value).map(([key, inner]) => {
        if (key === 'kind' || key === 'via') return [key, inner];
        if (typeof inner === 'string') return [key, redactor.text(inner)];
        if (Array.isArray(inner)) {
          const texts = inner.map((each) => (typeof each === 'string' ? redactor.text(each) : each));
          // People are compared by their aliases, and a mask would make them all the same person.
          return [key, key === 'aliases' ? texts.filter((each, index) => each === inner[index]) : texts];
        }
        return [key, isJsonObject(inner) ? clean(inner) : inner];
      }),
    );
  // Only texts are replaced, so the shape stays.
  return clean(identity as unknown as JsonObject) as unknown as Given;
}

/** A person in the stored form, for the record of their action. */
export const personOf = (redactor: Redactor, call: Call, { by, identity }: Acting): DecidedBy => ({
  type: 'person',
  name: redactor.text(by),
  identity: redactIdentity(identity, redactor),
  asker: askerAmong(call, { by, identity }, redactor),
});

/** Limit of followed sessions. Beyond it, the owner of a session is unknown. */
const mostSessions = 20;
/** The first turn and the first call are among this many entries, after a fork or a grant. */
const firstEntries = 20;

/**
 * The owners of a session: the principal of its first turn, and the program that made its first call. A session that
 * another one opened, or that was forked from it, belongs to the owners of that one too.
 */
export async function sessionOwners(ledger: Pick<Ledger, 'readEntries'>, sessionId: string): Promise<Askers> {
  const names: string[] = [];
  const identities: DirectIdentity[] = [];
  const sessions = new Set([sessionId]);
  // The set grows while it is read.
  for (const session of sessions) {
    if (sessions.size > mostSessions) return { names: [], identities: [] };
    const { turn, request, fork } = firstEvents(
      await ledger.readEntries({ sessionId: session, limit: firstEntries }),
    );
    names.push(...principalNames(turn?.principal));
    if (request?.askedBy !== undefined) {
      names.push(...namesOf(request.askedBy));
      identities.push(...directOf(request.askedBy));
    }
    for (const from of [turn?.parentSessionId, fork?.fromSessionId])
      if (from !== undefined) sessions.add(from);
  }
  return { names, identities };
}

type FirstEvents = {
  readonly turn: TurnOpened | undefined;
  readonly request: ToolRequested | undefined;
  readonly fork: SessionForked | undefined;
};

function firstEvents(entries: readonly StoredEntry[]): FirstEvents {
  let found: FirstEvents = { turn: undefined, request: undefined, fork: undefined };
  for (const entry of entries) {
    for (const event of readEntry(entry).events) {
      if (!isKnownEvent(event)) continue;
      if (event.type === 'turn.opened') found = { ...found, turn: found.turn ?? event };
      if (event.type === 'tool.requested') found = { ...found, request: found.request ?? event };
      if (event.type === 'session.forked') found = { ...found, fork: found.fork ?? event };
    }
    if (found.turn !== undefined && found.request !== undefined) break;
  }
  return found;
}

/**
 * A decision. Everyone involved in it counts: the person, the token, the maker of a link, the typed name.
 */
type Deciding = { readonly by: string; readonly identity: Identity };

/**
 * True if a person other than the requester must decide about this call. The deciding runtime and the one that accepted
 * the call may both require it, so no process on the same ledger can bypass it.
 */
export const dutiesAreSeparate = (engine: { readonly separateDuties: boolean }, call: Call): boolean =>
  engine.separateDuties || call.separateDuties;

/** People by all their names and identities on record. */
type Askers = { readonly names: readonly string[]; readonly identities: readonly DirectIdentity[] };

/** The fields of a call that identify its requesters. */
type AskedCall = Pick<Call, 'principal' | 'askedBy' | 'attrs' | 'toolName'>;

function askersOf({ principal, askedBy, attrs, toolName }: AskedCall): Askers {
  const isUndo = undoneToolName(toolName) !== undefined;
  const names = [
    ...principalNames(principal),
    ...(askedBy === undefined ? [] : namesOf(askedBy)),
    ...(isUndo && attrs !== undefined ? [readUndoAttrs(attrs).by] : []),
  ].filter((name) => name !== undefined);
  return { names, identities: askedBy === undefined ? [] : directOf(askedBy) };
}

/** Claims that identify a person, and that an identity provider also states about an approver. */
const nameClaims = ['sub', 'email', 'preferred_username', 'upn'] as const;

/** Every name of the user or service on whose behalf a call is made. */
const principalNames = (principal: Call['principal']): readonly string[] =>
  [principal?.userId, principal?.serviceId, ...nameClaims.map((claim) => principal?.claims?.[claim])].filter(
    (name) => typeof name === 'string',
  );

/** The call with the principal in another form: exact, or as stored. */
export const withPrincipal = (
  { askedBy, attrs, toolName }: AskedCall,
  principal: Call['principal'],
): AskedCall => ({ principal, askedBy, attrs, toolName });

export function askerAmong(
  call: AskedCall,
  { by, identity }: Deciding,
  redactor: Redactor,
): 'other' | 'same' | 'unknown' {
  return isAmong(askersOf(call), { by, identity }, redactor);
}

/** Compares the decider with these people. `unknown` if none of them has a comparable name or identity on record. */
export function isAmong(
  { names, identities }: Askers,
  { by, identity }: Deciding,
  redactor: Redactor,
): 'other' | 'same' | 'unknown' {
  if (!names.some(isComparable) && identities.every(({ kind }) => kind === 'self_asserted')) return 'unknown';
  // The ledger may have the redacted form of a name, so both forms are compared.
  const deciders = [by, ...namesOf(identity)].flatMap((name) => [name, redactor.text(name)]);
  const isAsker =
    deciders.some((name) => names.some((other) => isSameName(other, name))) ||
    directOf(identity).some((each) => identities.some((other) => isSameIdentity(each, other)));
  return isAsker ? 'same' : 'other';
}

type Relation = 'other' | 'same' | 'unknown';

/** The relation of several people who act together. If one of them is the requester, the act counts as the requester's. */
export const combineRelations = (found: readonly Relation[]): Relation =>
  found.includes('same') ? 'same' : found.length === 0 || found.includes('unknown') ? 'unknown' : 'other';
