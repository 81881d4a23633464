/**
 * Who may decide about a call: the acting person with their delegations, and the checks of rules and of `mayDecide`. Also the
 * current rights behind a vote, a link, a delegation or a grant.
 */
import type { Redactor } from '../base/redaction.ts';
import type { ApprovalPolicy } from '../call/approval-policy.ts';
import { fitsSeat, longestChain } from '../call/fits-seat.ts';
import type { Call, Question } from '../call/call.ts';
import { countedIdentity, isSameVoter } from '../call/counted-identity.ts';
import { delegationsIn, findBehalf, isActive } from '../call/delegation.ts';
import type { Behalf, DecidedBy } from '../call/events/gate-event.ts';
import { isExcluded, hasPolicy } from '../call/quorum.ts';
import { delegationsSubject } from '../ledger/last-state.ts';
import type { Ledger, OpenLedger } from '../ledger/ledger.ts';
import { ledgerSessionId } from '../ledger/ledger.ts';
import type { Acting } from './rights.ts';
import type { Needed } from '../call/role.ts';
import {
  personOf,
  askerAmong,
  isAmong,
  combineRelations,
  sessionOwners,
  dutiesAreSeparate,
} from './rights.ts';
import { whyRoleForbids, allows, identityAllows } from '../call/role.ts';
import type { Awaitable } from '../base/json.ts';
import type { ConfirmationDecision } from '../call/events/confirmation-event.ts';
import type { Identity, DirectIdentity } from '../call/identity.ts';
import { isRemote } from '../call/identity.ts';
import { whyNotApprover } from '../call/why-not-approver.ts';
import type { ConfirmationView, UnresolvedCall, GrantView } from './views.ts';
import { toConfirmationView } from './views.ts';
import { readFile } from 'node:fs/promises';
import type { Grant, GrantVote } from '../call/grant.ts';
import { isSameName } from '../call/same-identity.ts';
import { checkPrivateFile } from './own-files.ts';
import type { SignInContent, ContentFormat, TokenContent, TokenRecord } from './tokens.ts';
import { signInFormat, tokenFormat } from './tokens.ts';
import { readState } from '../ledger/reads.ts';

type Host = {
  readonly redactor: Redactor;
  readonly ledger: RightsSource & Pick<Ledger, 'readEntries' | 'query'>;
};

export async function approverOf(host: Host, call: Call, acting: Acting): Promise<DecidedBy> {
  const { redactor, ledger } = host;
  const person = personOf(redactor, call, acting);
  const { confirmation } = call;
  const policies = confirmation?.asks.flatMap(({ approval }) => approval ?? []) ?? [];
  if (confirmation === undefined || policies.length === 0) return person;
  const owners = policies.some(({ exclude }) => exclude?.includes('session_owner') === true)
    ? await sessionOwners(ledger, call.sessionId)
    : undefined;
  const actFor = (behalf: readonly Behalf[]): DecidedBy => {
    const all = [acting, ...behalf.map(({ name, identity }) => ({ by: name, identity }))];
    return {
      ...person,
      asker: combineRelations(all.map((each) => askerAmong(call, each, redactor))),
      ...(owners !== undefined && {
        owner: combineRelations(all.map((each) => isAmong(owners, each, redactor))),
      }),
      ...(behalf.length > 0 && { behalf }),
    };
  };
  return actFor(await behalfOf(ledger, confirmation, policies, actFor));
}

/** A person who is an approver acts for themselves. Others may act for one who delegated to them. */
async function behalfOf(
  ledger: Host['ledger'],
  { askedAt, votes }: Pick<Question, 'askedAt' | 'votes'>,
  policies: readonly ApprovalPolicy[],
  actFor: (behalf: readonly Behalf[]) => DecidedBy,
): Promise<readonly Behalf[]> {
  const time = { askedAt, at: ledger.now() };
  const fits = (by: DecidedBy, policy: ApprovalPolicy): boolean =>
    policy.seats.some((seat) => fitsSeat(policy, seat, by, time));
  const own = actFor([]);
  if (policies.some((policy) => fits(own, policy))) return [];
  const stored = await readState(ledger, ledgerSessionId, delegationsSubject);
  if (stored === undefined) return [];
  const rights = await readRights(ledger);
  // A delegation passes on what the delegator may do now.
  const delegations = delegationsIn(stored.state).flatMap((each) => {
    const identity = currentIdentity(rights, each.identity);
    return typeof identity === 'string' ? [] : [{ ...each, identity }];
  });
  const most = Math.max(...policies.map(longestChain));
  const actor = countedIdentity(own.identity);
  const find = (accepts: (by: DecidedBy) => boolean): readonly Behalf[] | undefined =>
    findBehalf(delegations, actor, time.at, most, (behalf) => accepts(actFor(behalf)));
  // A delegate of several people acts for one whose approval counts and is still missing, if there is one.
  return (
    find(
      (by) =>
        policies.some((policy) => !isExcluded(policy, by) && fits(by, policy)) &&
        !votes.some((vote) => isSameVoter(vote.by, by)),
    ) ??
    find((by) => policies.some((policy) => fits(by, policy))) ??
    []
  );
}

/**
 * Returns whether a person may decide about a call; a text is the reason for a refusal. `resolve`: the resolution of an
 * unknown effect, which may let an identical call run. `identity`: how the person, or the maker of a link, was
 * identified.
 */
export type MayDecide = (
  actor: string,
  subject: ConfirmationView | UnresolvedCall,
  decision: ConfirmationDecision | 'resolve',
  identity: Identity,
) => Awaitable<boolean | string>;

export type Deciders = {
  readonly separateDuties: boolean;
  readonly mayDecide: MayDecide | undefined;
  readonly redactor: Redactor;
  readonly ledger: RightsSource & Pick<Ledger, 'readEntries' | 'query'>;
};

/**
 * Why a person may not decide this. Undefined means that they may, and that `mayDecide`, if set, returned
 * `true`.
 */
export async function whyForbidden(
  engine: Deciders,
  call: Call,
  acting: Acting,
  decision: ConfirmationDecision,
): Promise<string | undefined> {
  const view = toConfirmationView(call);
  if (view === undefined) return 'the call asks nothing';
  const mustDiffer = dutiesAreSeparate(engine, call) || (isRemote(acting.identity) && runsAgain(call));
  if (decision !== 'deny' && mustDiffer) {
    const why = whyAsker(engine, call, acting);
    if (why !== undefined) return why;
  }
  const { confirmation } = call;
  if (confirmation !== undefined && hasPolicy(confirmation.asks)) {
    const by = await approverOf(engine, call, acting);
    const why = whyNotApprover(confirmation, { decision, by }, engine.ledger.now());
    if (why !== undefined) return why;
  }
  return whyNotAllowed(engine, view, acting, decision);
}

/**
 * True if an approval could repeat an effect that may have happened. Over HTTP this always needs a person other than the
 * requester.
 */
const runsAgain = ({ confirmation }: Call): boolean =>
  confirmation?.asks.some(({ code }) => code === 'call.twin') ?? false;

/** Why a person may not act on a call they requested themselves. */
export const whyAsker = (
  { redactor }: Pick<Deciders, 'redactor'>,
  call: Call,
  acting: Acting,
): string | undefined =>
  askerAmong(call, acting, redactor) === 'same'
    ? 'the call was requested by them or on their behalf, and duties are separate'
    : undefined;

/**
 * Asks `mayDecide` about each person whose permission is used: the person, and the maker of the link they
 * used.
 */
export async function whyNotAllowed(
  { mayDecide }: Pick<Deciders, 'mayDecide'>,
  view: ConfirmationView | UnresolvedCall,
  acting: Acting,
  decision: ConfirmationDecision | 'resolve',
  needed: Needed = 'approver',
): Promise<string | undefined> {
  for (const { by, identity, isMaker } of rightsUsed(acting)) {
    const why = whyRoleForbids(identity, needed);
    if (why !== undefined) return isMaker ? `${by}, who made the link, may not: ${why}` : why;
    if (mayDecide === undefined) continue;
    const allowed: unknown = await mayDecide(by, view, decision, identity);
    if (allowed === true) continue;
    const not = typeof allowed === 'string' && allowed !== '' ? allowed : 'the host does not let them decide';
    return isMaker ? `${by}, who made the link, may not: ${not}` : not;
  }
  return undefined;
}

/** A typed name gives no permission: that of the link's maker is used instead. */
function rightsUsed({ by, identity }: Acting): readonly (Acting & { readonly isMaker: boolean })[] {
  if (identity.kind !== 'link') return [{ by, identity, isMaker: false }];
  const { maker, holder } = identity;
  const makers = maker.kind === 'person' ? [{ by: maker.name, identity: maker.identity, isMaker: true }] : [];
  return holder.kind === 'typed' ? makers : [{ by, identity, isMaker: false }, ...makers];
}

/** Returns whether a person may give or revoke a grant; a text is the reason for a refusal. */
export type MayGrant = (
  actor: string,
  grant: GrantView,
  action: 'give' | 'revoke',
  /** How the person was identified. The stored identity, if a grant is checked again. */
  identity: Identity | undefined,
) => Awaitable<boolean | string>;

/**
 * The rights of people as they are now. What a person did earlier counts only while every right that it used still exists.
 * That is true of a vote when its quorum completes, and of a decision link, a delegation or a grant when it is used.
 *
 * 1. Tokens and sign-ins are texts that belong to the ledger, so every process that shares it comes to the same answer.
 * 2. An identity that no text of this ledger knows stays as recorded. A host that identifies people itself decides with
 *    `mayDecide` and `mayGrant`.
 */
type RightsSource = Pick<
  OpenLedger,
  'append' | 'readCall' | 'readSession' | 'query' | 'whenChanged' | 'now' | 'documents' | 'ownFiles'
>;

export type Rights = {
  readonly now: number;
  readonly tokens: TokenContent | undefined;
  readonly signIns: SignInContent | undefined;
  readonly activeDelegations: ReadonlySet<string>;
};

export async function readRights(ledger: RightsSource): Promise<Rights> {
  const now = ledger.now();
  const stored = await readState(ledger, ledgerSessionId, delegationsSubject);
  const active = delegationsIn(stored?.state ?? {}).filter((each) => isActive(each, now));
  return {
    now,
    tokens: await readContent(ledger, 'tokens', tokenFormat),
    signIns: await readContent(ledger, 'sign-ins', signInFormat),
    activeDelegations: new Set(active.map(({ delegationId }) => delegationId)),
  };
}

/** Undefined if nothing was ever stored under this name. */
async function readContent<Content>(
  { documents, ownFiles = [] }: RightsSource,
  name: string,
  format: ContentFormat<Content>,
): Promise<Content | undefined> {
  if (documents !== undefined) {
    const { text } = await documents.read(name);
    return text === undefined ? undefined : format.parse(() => text, 'The database of the ledger');
  }
  const ledger = ownFiles.find(({ kind }) => kind === 'ledger');
  if (ledger === undefined) return undefined;
  const path = `${ledger.path}.${name}`;
  checkPrivateFile({ path, what: `${format.name} file`, secret: false });
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : format.parse(() => text, path);
}

/** A person with the groups and roles that they and everyone they acted for have now, or why a right has ended. Pure. */
export function currentPerson(rights: Rights, by: DecidedBy): DecidedBy | string {
  for (const { delegation, name, until } of by.behalf ?? [])
    if (!rights.activeDelegations.has(delegation) || rights.now >= until)
      return `the delegation of ${name} has ended`;
  const used = [...directIdentities(by.identity), ...(by.behalf ?? []).map(({ identity }) => identity)];
  for (const identity of used) {
    const current = currentIdentity(rights, identity);
    if (typeof current === 'string') return current;
  }
  return {
    ...by,
    ...(by.identity !== undefined && { identity: renewed(rights, by.identity) }),
    ...(by.behalf !== undefined && {
      behalf: by.behalf.map((each) => ({ ...each, identity: renewedDirect(rights, each.identity) })),
    }),
  };
}

/** A grant with what its givers may do now, or why it does not apply. Pure. */
export function currentGrant(rights: Rights, grant: Grant): Grant | string {
  const { by: name, identity, approved } = grant;
  if (approved !== undefined) {
    const votes: GrantVote[] = [];
    for (const vote of approved.votes) {
      const by = currentPerson(rights, vote.by);
      if (typeof by === 'string') return `${vote.by.name} gave it, and ${by}`;
      votes.push({ ...vote, by });
    }
    return { ...grant, approved: { ...approved, votes } };
  }
  if (identity === undefined) return grant;
  const current = currentIdentity(rights, identity);
  return typeof current === 'string' ? `${name} gave it, and ${current}` : { ...grant, identity: current };
}

/** Everyone whose right an act used: the person, and the maker of the link. */
function directIdentities(identity: Identity | undefined): readonly DirectIdentity[] {
  if (identity === undefined) return [];
  if (identity.kind !== 'link') return [identity];
  const { maker, holder } = identity;
  return [
    ...(holder.kind === 'signed_in' ? [holder.identity] : []),
    ...(maker.kind === 'person' ? [maker.identity] : []),
  ];
}

function renewed(rights: Rights, identity: Identity): Identity {
  if (identity.kind !== 'link') return renewedDirect(rights, identity);
  const { maker, holder } = identity;
  return {
    ...identity,
    ...(maker.kind === 'person' && { maker: { ...maker, identity: renewedDirect(rights, maker.identity) } }),
    ...(holder.kind === 'signed_in' && {
      holder: { ...holder, identity: renewedDirect(rights, holder.identity) },
    }),
  };
}

function renewedDirect(rights: Rights, identity: DirectIdentity): DirectIdentity {
  const current = currentIdentity(rights, identity);
  return typeof current === 'string' ? identity : current;
}

/** Ids of stored tokens have this form. Other ids are of a host, or of the process that made a token for itself. */
const storedTokenId = /^[0-9a-f]{12}$/;

/** True if a text of the ledger states what this person may do now. */
export const isKnown = ({ tokens, signIns }: Rights, identity: DirectIdentity): boolean =>
  (identity.kind === 'token' && tokens !== undefined && storedTokenId.test(identity.id)) ||
  (identity.kind === 'provider' && signIns !== undefined && isOwnSignIn(identity));

/** The token of a person: one that may decide, if they have any. Undefined: no valid token has this name. */
export function tokenOf({ tokens, now }: Rights, name: string): TokenRecord | undefined {
  const theirs = (tokens?.tokens ?? []).filter(
    (each) =>
      now < (each.expiresAt ?? Infinity) && (isSameName(each.name, name) || isSameName(each.person, name)),
  );
  return theirs.find(({ role }) => allows(role, 'approver')) ?? theirs[0];
}

/** The identity with what the person has now, or why it has ended. */
export function currentIdentity(rights: Rights, identity: DirectIdentity): DirectIdentity | string {
  switch (identity.kind) {
    case 'token':
      return currentToken(rights, identity);
    case 'provider':
      return currentSignIn(rights, identity);
    case 'os_user':
    case 'self_asserted':
      return identity;
  }
}

/** Only servers of this ledger write this method. */
const isOwnSignIn = ({ method }: DirectIdentity & { readonly kind: 'provider' }): boolean =>
  /^oidc( device)?$/.test(method);

function currentToken(
  { tokens, now }: Rights,
  identity: DirectIdentity & { readonly kind: 'token' },
): DirectIdentity | string {
  if (tokens === undefined || !storedTokenId.test(identity.id)) return identity;
  const record = tokens.tokens.find(({ tokenId }) => tokenId === identity.id);
  if (record === undefined) return 'their token was revoked';
  if (now >= (record.expiresAt ?? Infinity)) return 'their token has expired';
  const { groups: _, roles: __, ...rest } = identity;
  const { groups, role } = record;
  const current: DirectIdentity = { ...rest, ...(groups !== undefined && { groups }), roles: [role] };
  return identityAllows(current, 'approver') ? current : `their token has the role ${role} now`;
}

function currentSignIn(
  { signIns }: Rights,
  identity: DirectIdentity & { readonly kind: 'provider' },
): DirectIdentity | string {
  if (signIns === undefined || !isOwnSignIn(identity)) return identity;
  const known = signIns.people.find(
    ({ person }) => person.issuer === identity.issuer && person.subject === identity.subject,
  );
  if (known === undefined) return 'their sign-in has ended';
  const { groups } = known.person;
  const hasAll = identity.groups?.every((group) => groups.includes(group)) !== false;
  const roles = known.role !== undefined ? [known.role] : hasAll ? (identity.roles ?? []) : [];
  const current: DirectIdentity = { ...identity, groups, roles };
  if (identityAllows(identity, 'approver') && !identityAllows(current, 'approver'))
    return 'they no longer have the role approver';
  return current;
}
