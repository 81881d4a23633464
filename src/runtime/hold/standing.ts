/**
 * The rights of people as they are now. A vote counts only while every right that it was given with still exists: when a
 * quorum completes, every earlier vote is checked here.
 *
 * 1. Tokens and sign-ins are texts that belong to the ledger, so every process that shares it comes to the same answer.
 * 2. An identity that no text of this ledger knows stays as recorded. A host that identifies people itself decides with
 *    `mayDecide`.
 */
import { readFile } from 'node:fs/promises';
import { cutText } from '../../base/cut-text.ts';
import { describeApprovers } from '../../call/approval-policy.ts';
import type { Call, Confirmation } from '../../call/call.ts';
import { delegationsIn, isActive } from '../../call/delegation.ts';
import { fitsSeat } from '../../call/fits-seat.ts';
import type { DecidedBy, DirectIdentity, Identity } from '../../call/event.ts';
import { isApproval } from '../../call/quorum.ts';
import type { FallenVote, Vote } from '../../call/vote.ts';
import { delegationsSubject } from '../../ledger/last-state.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import { checkPrivateFile } from '../files/private-file.ts';
import { toConfirmationView } from '../host/confirmation-view.ts';
import type { Deciders } from '../host/may-decide.ts';
import { whyNotAllowed } from '../host/may-decide.ts';
import { identityAllows } from '../host/rights.ts';
import type { SignInContent } from '../host/sign-in-content.ts';
import { signInFormat } from '../host/sign-in-content.ts';
import type { ContentFormat } from '../host/stored-content.ts';
import type { TokenContent } from '../host/token-content.ts';
import { tokenFormat } from '../host/token-content.ts';

type People = Pick<Ledger, 'journal' | 'now' | 'documents' | 'ownFiles'>;
type Host = Omit<Deciders, 'ledger'> & { readonly ledger: Deciders['ledger'] & People };

const longestWhy = 300;

/** The earlier votes of one kind whose rights have ended, with the reason. */
export async function findFallen(
  engine: Host,
  call: Call,
  confirmation: Confirmation,
  kind: 'approval' | 'denial',
): Promise<readonly FallenVote[]> {
  const votes = confirmation.votes.filter((vote) => isApproval(vote) === (kind === 'approval'));
  if (votes.length === 0) return [];
  const rights = await readRights(engine.ledger);
  const fallen: FallenVote[] = [];
  for (const vote of votes) {
    const why = whyEnded(rights, confirmation, vote) ?? (await whyHostRefuses(engine, call, vote));
    if (why === undefined) continue;
    const { by, decision, at } = vote;
    fallen.push({ by, decision, at, why: cutText(engine.redactor.text(why), longestWhy) });
  }
  return fallen;
}

async function whyHostRefuses(engine: Host, call: Call, { by, decision }: Vote): Promise<string | undefined> {
  const view = toConfirmationView(call);
  if (view === undefined || by.identity === undefined) return undefined;
  return whyNotAllowed(engine, view, { by: by.name, identity: by.identity }, decision);
}

type Rights = {
  readonly now: number;
  readonly tokens: TokenContent | undefined;
  readonly signIns: SignInContent | undefined;
  readonly activeDelegations: ReadonlySet<string>;
};

async function readRights(ledger: People): Promise<Rights> {
  const now = ledger.now();
  const stored = await ledger.journal.readState(ledgerSessionId, delegationsSubject);
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
  { documents, ownFiles = [] }: People,
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

/** Why a vote no longer counts. Pure. */
function whyEnded(rights: Rights, { asks, askedAt }: Confirmation, { by, at }: Vote): string | undefined {
  for (const { delegation, name, until } of by.behalf ?? [])
    if (!rights.activeDelegations.has(delegation) || rights.now >= until)
      return `the delegation of ${name} has ended`;
  const used = [...directIdentities(by.identity), ...(by.behalf ?? []).map(({ identity }) => identity)];
  for (const identity of used) {
    const current = currentIdentity(rights, identity);
    if (typeof current === 'string') return current;
  }
  const current: DecidedBy = {
    ...by,
    ...(by.identity !== undefined && { identity: renewed(rights, by.identity) }),
    ...(by.behalf !== undefined && {
      behalf: by.behalf.map((each) => ({ ...each, identity: renewedDirect(rights, each.identity) })),
    }),
  };
  for (const { approval } of asks)
    for (const seat of approval?.seats ?? [])
      if (
        approval !== undefined &&
        fitsSeat(approval, seat, by, { askedAt, at }) &&
        !fitsSeat(approval, seat, current, { askedAt, at: rights.now })
      )
        return `they are no longer ${describeApprovers(seat)}`;
  return undefined;
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

/** The identity with what the person has now, or why it has ended. */
function currentIdentity(rights: Rights, identity: DirectIdentity): DirectIdentity | string {
  switch (identity.kind) {
    case 'token':
      return currentToken(rights, identity);
    case 'provider':
      return currentPerson(rights, identity);
    case 'os_user':
    case 'self_asserted':
      return identity;
  }
}

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

function currentPerson(
  { signIns }: Rights,
  identity: DirectIdentity & { readonly kind: 'provider' },
): DirectIdentity | string {
  // Only servers of this ledger write this method.
  if (signIns === undefined || !/^oidc( device)?$/.test(identity.method)) return identity;
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
