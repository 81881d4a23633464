/**
 * Finds out whether the requester of a call takes part in a decision about it.
 *
 * 1. Duties are separate if the deciding runtime says so, or the one that accepted the call did: no process
 *    on the same ledger can be used to bypass it.
 * 2. Everyone involved in a decision counts: the person, the token, the maker of a link, the typed name.
 */
import type { Redactor } from '../../base/redaction.ts';
import type { Call } from '../../call/call.ts';
import type { DirectIdentity, Identity } from '../../call/event.ts';
import { directOf, isComparable, isSameIdentity, isSameName, namesOf } from '../../call/same-identity.ts';
import { readUndoAttrs } from './undo-attrs.ts';
import { undoneToolName } from './undo-tool.ts';

type Deciding = { readonly by: string; readonly identity: Identity };

/** Must a person other than the requester decide about this call? */
export const dutiesAreSeparate = (engine: { readonly separateDuties: boolean }, call: Call): boolean =>
  engine.separateDuties || call.separateDuties;

/** People by all their names and identities on record. */
export type Askers = { readonly names: readonly string[]; readonly identities: readonly DirectIdentity[] };

/** Everyone on whose behalf, or by whom, the call was requested. */
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
export const principalNames = (principal: Call['principal']): readonly string[] =>
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

/** Is the decider one of these people? `unknown` if none of them is on record with a name that can be compared. */
export function isAmong(
  { names, identities }: Askers,
  { by, identity }: Deciding,
  redactor: Redactor,
): 'other' | 'same' | 'unknown' {
  if (!names.some(isComparable) && identities.every(({ kind }) => kind === 'self_asserted')) return 'unknown';
  // The ledger may have stored the redacted form of a name: both are compared.
  const deciders = [by, ...namesOf(identity)].flatMap((name) => [name, redactor.text(name)]);
  const isAsker =
    deciders.some((name) => names.some((other) => isSameName(other, name))) ||
    directOf(identity).some((each) => identities.some((other) => isSameIdentity(each, other)));
  return isAsker ? 'same' : 'other';
}

type Relation = 'other' | 'same' | 'unknown';

/** Several people act together: if one of them is the requester, the act counts as the requester's. */
export const worstOf = (found: readonly Relation[]): Relation =>
  found.includes('same') ? 'same' : found.length === 0 || found.includes('unknown') ? 'unknown' : 'other';
