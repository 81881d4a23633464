/**
 * Delegations of approvals: a person lets another one approve in their place until a time.
 *
 * 1. The state is the whole list. This file alone defines its permanent format.
 * 2. A delegation that this version cannot read completely permits nothing. It is kept unchanged.
 * 3. A delegate passes on only what the delegator's own identity has: a delegation cannot add a group or a role.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import { personNames } from './fits-seat.ts';
import type { Behalf } from './events/gate-event.ts';
import type { DirectIdentity } from './identity.ts';
import { isVerified, readDirectIdentity } from './identity.ts';

export type Delegation = {
  readonly delegationId: string;
  /** The person who delegates. */
  readonly by: string;
  readonly identity: DirectIdentity;
  /** The delegate: a name as in `people` of a rule. */
  readonly to: string;
  readonly until: number;
  readonly reason: string | undefined;
  readonly givenAt: number;
  readonly revoked: { readonly by: string; readonly at: number } | undefined;
};

/** Number of ended delegations kept in the state. All of them stay in the events. */
const mostEnded = 100;

export const delegationsIn = (state: JsonObject): readonly Delegation[] =>
  rowsOf(state).flatMap((row) => parseDelegation(row) ?? []);

export const isActive = ({ until, revoked }: Delegation, now: number): boolean =>
  revoked === undefined && now < until;

/** The state with one more delegation. The oldest ended ones are dropped if it is full. */
export function withDelegation(state: JsonObject, given: Delegation, now: number): JsonObject {
  const isOver = (row: JsonValue): boolean => {
    const known = parseDelegation(row);
    return known !== undefined && !isActive(known, now);
  };
  const rows = rowsOf(state);
  let tooMany = rows.filter(isOver).length - mostEnded;
  return { ...state, delegations: [...rows.filter((row) => !isOver(row) || --tooMany < 0), toRow(given)] };
}

/** The state with one delegation revoked. Unchanged if there is none or it is already revoked. */
export function withoutDelegation(
  state: JsonObject,
  delegationId: string,
  revoked: NonNullable<Delegation['revoked']>,
): JsonObject {
  const rows = rowsOf(state);
  const index = rows.findIndex((row) => isJsonObject(row) && row['delegation_id'] === delegationId);
  const row = rows[index];
  if (!isJsonObject(row) || row['revoked'] !== undefined) return state;
  return { ...state, delegations: rows.with(index, { ...row, revoked }) };
}

/**
 * The people whom this person may act for, nearest first, so that the last one is accepted. `most` limits the steps:
 * a delegate of a delegate counts only if the rule says so.
 */
export function findBehalf(
  delegations: readonly Delegation[],
  actor: DirectIdentity,
  now: number,
  most: number,
  accepts: (behalf: readonly Behalf[]) => boolean,
): readonly Behalf[] | undefined {
  if (!isVerified(actor)) return undefined;
  let paths: readonly { readonly last: DirectIdentity; readonly behalf: readonly Behalf[] }[] = [
    { last: actor, behalf: [] },
  ];
  for (let step = 0; step < most && paths.length > 0; step++) {
    paths = paths.flatMap(({ last, behalf }) =>
      delegations
        .filter(
          (each) =>
            isActive(each, now) &&
            personNames(last).includes(each.to) &&
            !behalf.some(({ delegation }) => delegation === each.delegationId),
        )
        .map(({ delegationId, by, identity, until }) => ({
          last: identity,
          behalf: [...behalf, { delegation: delegationId, name: by, identity, until }],
        })),
    );
    const found = paths.find(({ behalf }) => accepts(behalf));
    if (found !== undefined) return found.behalf;
  }
  return undefined;
}

function rowsOf(state: JsonObject): readonly JsonValue[] {
  const rows = state['delegations'];
  // The guard does not narrow read-only arrays by itself.
  return Array.isArray(rows) ? (rows as readonly JsonValue[]) : [];
}

const toRow = ({ delegationId, by, identity, to, until, reason, givenAt }: Delegation): JsonObject => ({
  delegation_id: delegationId,
  by,
  identity,
  to,
  until,
  ...(reason !== undefined && { reason }),
  given_at: givenAt,
});

const known: ReadonlySet<string> = new Set([
  'delegation_id',
  'by',
  'identity',
  'to',
  'until',
  'reason',
  'given_at',
  'revoked',
]);

function parseDelegation(row: JsonValue): Delegation | undefined {
  if (!isJsonObject(row) || Object.keys(row).some((key) => !known.has(key))) return undefined;
  const { delegation_id: delegationId, by, to, until, reason, given_at: givenAt, revoked } = row;
  const identity = readDirectIdentity(row['identity']);
  if (typeof delegationId !== 'string' || typeof by !== 'string' || typeof to !== 'string') return undefined;
  if (typeof until !== 'number' || typeof givenAt !== 'number' || identity === undefined) return undefined;
  if (reason !== undefined && typeof reason !== 'string') return undefined;
  return { delegationId, by, identity, to, until, reason, givenAt, revoked: parseRevocation(revoked) };
}

/** A revocation in an unknown form still counts as one. */
function parseRevocation(row: JsonValue | undefined): Delegation['revoked'] {
  if (row === undefined) return undefined;
  const { by, at } = isJsonObject(row) ? row : {};
  return { by: typeof by === 'string' ? by : '', at: typeof at === 'number' ? at : 0 };
}
