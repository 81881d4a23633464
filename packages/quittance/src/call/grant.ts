/**
 * Grants of a session: a named person permits calls of a tool with certain arguments until a time.
 *
 * 1. The state of a session's grants is the whole list. This file alone defines its permanent format.
 * 2. A grant that this version cannot read completely permits nothing, since an unknown field may be a
 *    restriction. It is kept unchanged.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import type { DecidedBy } from './events/gate-event.ts';
import type { DirectIdentity } from './identity.ts';
import { readDirectIdentity } from './identity.ts';

export type Grant = {
  readonly grantId: string;
  readonly sessionId: string;
  /** Exact name or glob. */
  readonly toolName: string;
  /** A condition on the arguments in the language of contracts. Undefined: any arguments. */
  readonly where: JsonObject | undefined;
  /** When it ends, by the ledger's clock. Undefined: never. */
  readonly until: number | undefined;
  /** How many calls it may approve. Undefined: any number. */
  readonly uses: number | undefined;
  /** The person who gave it. */
  readonly by: string;
  /** How that person was identified, if recorded. */
  readonly identity: DirectIdentity | undefined;
  readonly reason: string | undefined;
  readonly givenAt: number;
  readonly revoked: GrantRevocation | undefined;
  /** Set if several people gave it by approving a call for its session. */
  readonly approved: GrantApproval | undefined;
};

/** The approvals of a call that became a grant for its session. It answers the same asks only. */
export type GrantApproval = {
  readonly callId: string;
  readonly askedAt: number;
  /** Keys of the asks that the people answered. See `askKey`. */
  readonly asks: readonly string[];
  readonly votes: readonly GrantVote[];
};

export type GrantVote = { readonly by: DecidedBy; readonly at: number };

export type GrantRevocation = {
  readonly by: string;
  readonly identity: DirectIdentity | undefined;
  readonly at: number;
  readonly reason: string | undefined;
};

/** Number of ended grants kept in the state. All of them stay in the events. */
const mostEnded = 100;

/** The grants in a state, oldest first. Those that cannot be read completely are left out. */
export const grantsIn = (state: JsonObject, sessionId: string): readonly Grant[] =>
  rowsOf(state).flatMap((row) => parseGrant(row, sessionId) ?? []);

/** The state with one more grant. The oldest grants that have ended by `now` are dropped if it is full. */
export function withGrant(state: JsonObject, grant: Grant, now: number): JsonObject {
  const rows = rowsOf(state);
  const isOver = (row: JsonValue): boolean => {
    const known = parseGrant(row, grant.sessionId);
    return known !== undefined && (known.revoked !== undefined || isPast(known, now));
  };
  let tooMany = rows.filter(isOver).length - mostEnded;
  const kept = rows.filter((row) => !isOver(row) || --tooMany < 0);
  return { ...state, grants: [...kept, toRow(grant)] };
}

/** The state with one grant revoked. Unchanged if the grant does not exist or is already revoked. */
export function withoutGrant(state: JsonObject, grantId: string, revocation: GrantRevocation): JsonObject {
  const rows = rowsOf(state);
  const index = rows.findIndex((row) => isJsonObject(row) && own(row, 'grant_id') === grantId);
  const row = rows[index];
  if (!isJsonObject(row) || own(row, 'revoked') !== undefined) return state;
  const revoked = revocationToRow(revocation);
  return { ...state, grants: rows.with(index, { ...row, revoked }) };
}

/** True if the grant has ended. */
export const isPast = ({ until }: Pick<Grant, 'until'>, now: number): boolean =>
  until !== undefined && now >= until;

/** The counter of calls that a grant has approved. It is removed with its session. */
export const grantCounter = (sessionId: string, grantId: string): string =>
  `session/${JSON.stringify(sessionId)}/grant/${grantId}`;

function rowsOf(state: JsonObject): readonly JsonValue[] {
  const rows = own(state, 'grants');
  // The guard does not narrow read-only arrays by itself.
  return Array.isArray(rows) ? (rows as readonly JsonValue[]) : [];
}

const own = (row: JsonObject, key: string): JsonValue | undefined =>
  Object.hasOwn(row, key) ? row[key] : undefined;

const toRow = ({
  grantId,
  toolName,
  where,
  until,
  uses,
  by,
  identity,
  reason,
  givenAt,
  revoked,
  approved,
}: Grant): JsonObject => ({
  grant_id: grantId,
  tool_name: toolName,
  ...(where !== undefined && { where }),
  ...(until !== undefined && { until }),
  ...(uses !== undefined && { uses }),
  by,
  ...(identity !== undefined && { identity }),
  ...(reason !== undefined && { reason }),
  given_at: givenAt,
  ...(revoked !== undefined && { revoked: revocationToRow(revoked) }),
  // Its fields are JSON: names, identities and numbers.
  ...(approved !== undefined && { approved: approved as unknown as JsonObject }),
});

const revocationToRow = ({ by, identity, at, reason }: GrantRevocation): JsonObject => ({
  by,
  ...(identity !== undefined && { identity }),
  at,
  ...(reason !== undefined && { reason }),
});

const known: ReadonlySet<string> = new Set([
  'grant_id',
  'tool_name',
  'where',
  'until',
  'uses',
  'by',
  'identity',
  'reason',
  'given_at',
  'revoked',
  'approved',
]);

function parseGrant(row: JsonValue, sessionId: string): Grant | undefined {
  if (!isJsonObject(row) || Object.keys(row).some((key) => !known.has(key))) return undefined;
  const grantId = own(row, 'grant_id');
  const toolName = own(row, 'tool_name');
  const by = own(row, 'by');
  const givenAt = own(row, 'given_at');
  const where = own(row, 'where');
  const until = own(row, 'until');
  const uses = own(row, 'uses');
  const reason = own(row, 'reason');
  const revoked = own(row, 'revoked');
  if (typeof grantId !== 'string' || typeof toolName !== 'string' || typeof by !== 'string') return undefined;
  if (typeof givenAt !== 'number' || !isMaybe(until, 'number') || !isMaybe(uses, 'number')) return undefined;
  if (!isMaybe(reason, 'string') || (where !== undefined && !isJsonObject(where))) return undefined;
  const given = own(row, 'identity');
  const identity = given === undefined ? undefined : readDirectIdentity(given);
  if (given !== undefined && identity === undefined) return undefined;
  const ended = revoked === undefined ? undefined : parseRevocation(revoked);
  const approval = own(row, 'approved');
  const approved = approval === undefined ? undefined : parseApproval(approval);
  if (approval !== undefined && approved === undefined) return undefined;
  return {
    grantId,
    sessionId,
    toolName,
    where,
    until,
    uses,
    by,
    identity,
    reason,
    givenAt,
    revoked: ended,
    approved,
  };
}

function parseApproval(value: JsonValue): GrantApproval | undefined {
  if (!isJsonObject(value)) return undefined;
  const { callId, askedAt, asks, votes, ...rest } = value;
  if (typeof callId !== 'string' || typeof askedAt !== 'number' || Object.keys(rest).length > 0)
    return undefined;
  if (!isListOf(asks, (each): each is string => typeof each === 'string')) return undefined;
  return isListOf(votes, isGrantVote) ? { callId, askedAt, asks, votes } : undefined;
}

const isListOf = <Item>(value: unknown, isItem: (each: unknown) => each is Item): value is readonly Item[] =>
  Array.isArray(value) && value.every(isItem);

/** True for a person with their identity, as this file writes it. */
const isGrantVote = (value: unknown): value is GrantVote =>
  isJsonObject(value) &&
  typeof value['at'] === 'number' &&
  isJsonObject(value['by']) &&
  value['by']['type'] === 'person' &&
  typeof value['by']['name'] === 'string';

/** A revocation in an unknown form still counts as one. */
function parseRevocation(row: JsonValue): GrantRevocation {
  const { by, identity, at, reason } = isJsonObject(row) ? row : {};
  return {
    by: typeof by === 'string' ? by : '',
    identity: readDirectIdentity(identity),
    at: typeof at === 'number' ? at : 0,
    reason: typeof reason === 'string' ? reason : undefined,
  };
}

function isMaybe(value: JsonValue | undefined, type: 'number'): value is number | undefined;
function isMaybe(value: JsonValue | undefined, type: 'string'): value is string | undefined;
function isMaybe(value: JsonValue | undefined, type: 'number' | 'string'): boolean {
  return value === undefined || typeof value === type;
}
