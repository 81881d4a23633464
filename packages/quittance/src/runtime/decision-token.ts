/**
 * Decision links: signed texts that decide one question, and the format of their tokens.
 *
 * 1. A link uses the permissions of the person who made it and of the person it names. Both are checked when
 *    it is made and when it is used. A link made by the service gives no permission: its user must be named
 *    in it, or signed in.
 * 2. A link ends with its question, at its own expiry, and with the token of its maker. Its lifetime is
 *    limited.
 * 3. A typed name gives no permission. It is stored and marked as self-asserted.
 */
import { checkName, limits } from '../call/limits.ts';
import { readIdentity } from './rights.ts';
import { allows, whyRoleForbids } from '../call/role.ts';
import { tokenIdentity } from './tokens.ts';
import type { Rights } from './approvers.ts';
import { currentIdentity, isKnown, readRights, tokenOf, whyForbidden } from './approvers.ts';
import { timeText } from '../base/deadlines.ts';
import { QuittanceError, isQuittanceError } from '../base/error.ts';
import type { Awaitable, JsonObject, JsonValue } from '../base/json.ts';
import type { DirectIdentity, LinkIdentity } from '../call/identity.ts';
import { isVerified, selfAsserted, readDirectIdentity } from '../call/identity.ts';
import { isSpelledAlike, namesOf } from '../call/same-identity.ts';
import type { ConfirmationView } from './views.ts';
import { checkKeys } from '../base/check-keys.ts';
import { countedFrom, decideConfirmation, findOpenQuestion } from './decide-confirmation.ts';
import type { RuntimeState } from './runtime-state.ts';
import type { Engine } from './engine.ts';
import { isExpired } from './settle.ts';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { isJsonObject, readJsonText } from '../base/json.ts';
import { findConfirmation } from '../ledger/reads.ts';

export type LinkOptions = {
  /** The only person who may use it. */
  readonly by?: string;
  /** How the host knows the named person, if it does. */
  readonly byIdentity?: DirectIdentity;
  /**
   * The person who makes it: the link uses their permission. Without it the service makes the link, which
   * then gives no permission. Such a link must name a person or be used by one who is signed in.
   */
  readonly madeBy?: string;
  /** How the host knows the person who makes it. */
  readonly identity?: DirectIdentity;
  /** The decisions that it allows. Default: both. */
  readonly decisions?: readonly LinkDecision[];
  /** Lifetime: at most 7 days, and never longer than the question waits. */
  readonly expiresInMs: number;
};

/** A decision by a token. */
export type LinkUse = {
  readonly decision: LinkDecision;
  /** The name of the person who decides. Optional if the link or `identity` names them. */
  readonly by?: string;
  /**
   * The signed-in person, if the host knows one. Required for a link that the service made without a name.
   */
  readonly identity?: DirectIdentity;
  readonly reason?: string;
  /**
   * Returns `true` if a person in the link may still decide, or the reason why not. Needed for tokens and sign-ins that the
   * ledger does not have; their links are refused without it. The others are checked without it.
   */
  readonly stands?: StandsAtHost;
  /** When the decision was received, by the ledger's clock. Default: now. A denial counts from then. */
  readonly receivedAt?: number;
};

/** A link as shown to its holder. */
export type LinkView = {
  readonly confirmationId: string;
  readonly decisions: readonly LinkDecision[];
  /** The only person who may use it. */
  readonly named: string | undefined;
  /** The person who made it. Undefined: the service did. */
  readonly madeBy: string | undefined;
};

export type StandsAtHost = (person: LinkPerson) => Awaitable<true | string>;

const optionNames = ['by', 'byIdentity', 'madeBy', 'identity', 'decisions', 'expiresInMs'] as const;
const useNames = ['decision', 'by', 'identity', 'reason', 'stands', 'receivedAt'] as const;

/** A token for the question in its current state: its input and its preview. */
export async function makeDecisionToken(
  engine: Engine,
  confirmationId: string,
  options: LinkOptions,
): Promise<string> {
  checkTokenOptions(options);
  const where = 'runtime.confirmations.link';
  const { by, byIdentity, madeBy, decisions = ['approve', 'deny'], expiresInMs } = options;
  const { redactor } = engine;
  const maker =
    madeBy === undefined
      ? undefined
      : { name: madeBy, identity: readIdentity(where, options.identity, redactor) };
  const named =
    by === undefined
      ? undefined
      : {
          name: by,
          identity:
            byIdentity === undefined
              ? approverNamed(await readRights(engine.ledger), by)
              : readIdentity(where, byIdentity, redactor),
        };
  const { call, confirmation } = await findOpenQuestion(engine, confirmationId);
  const now = engine.ledger.now();
  if (isExpired(confirmation, now))
    throw new QuittanceError('confirmation.expired', `The time to decide about call ${call.callId} is up.`, {
      confirmationId,
    });
  const { inputDigest, revision, expiresAt = Number.MAX_SAFE_INTEGER } = confirmation;
  const ends = Math.min(expiresAt, now + expiresInMs, Number.MAX_SAFE_INTEGER);
  const claims = { confirmationId, inputDigest, revision, named, maker, decisions, expiresAt: ends };
  // The permission of an unnamed person is checked when they use the link.
  const first = by ?? madeBy;
  const identity =
    by === undefined ? (maker?.identity ?? selfAsserted) : linkIdentity(claims, { kind: 'named' });
  if (first !== undefined)
    for (const decision of decisions) {
      const acting = { by: first, identity };
      const why = await whyForbidden(engine, call, acting, decision);
      if (why !== undefined)
        forbid(`${first} may not ${decision} call ${call.callId}, so no link can be made for that: ${why}.`, {
          confirmationId,
          by: first,
        });
    }
  return writeSignedToken(claims, engine.seal.tokenKey);
}

/** Decides as the token allows, with all checks of any other decision. */
export async function decideByToken(
  state: RuntimeState,
  token: string,
  use: LinkUse,
): Promise<ConfirmationView> {
  checkTokenUse(use);
  const { claims, by, link } = await readUse(state.engine, token, use);
  const { confirmationId, inputDigest, revision } = claims;
  const { decision, reason } = use;
  return decideConfirmation(
    state,
    confirmationId,
    {
      decision,
      by,
      inputDigest,
      ...(revision !== undefined && { revision }),
      ...(reason !== undefined && { reason }),
      ...(use.receivedAt !== undefined && { receivedAt: use.receivedAt }),
    },
    link,
  );
}

/** Why this decision would be refused now. Undefined: it would count. A missing name is not a reason. */
export async function whyNotByToken(
  engine: Engine,
  token: string,
  use: LinkUse,
): Promise<string | undefined> {
  checkTokenUse(use);
  try {
    const named = readSignedToken(token, engine.seal.tokenKey)?.named;
    // A name that a person may still type. A link that names a person takes no other name.
    const typed = named === undefined && { by: 'a person' };
    const { claims, by, link } = await readUse(engine, token, { ...typed, ...use });
    const { call } = await findOpenQuestion(engine, claims.confirmationId);
    return await whyForbidden(engine, call, { by, identity: link }, use.decision);
  } catch (error) {
    if (isQuittanceError(error) && error.code.startsWith('confirmation.')) return error.message;
    throw error;
  }
}

/** The question and the persons of a link. Throws if the link is not of this ledger, has expired, or depends on a right that has ended. */
export async function readLink(engine: Engine, token: string, stands?: StandsAtHost): Promise<LinkView> {
  const claims = readSignedToken(token, engine.seal.tokenKey);
  if (claims === undefined || engine.ledger.now() >= claims.expiresAt)
    return forbid('This decision link is not of this ledger, or it has expired. Ask for a new one.');
  await refuseEnded(engine, claims, stands);
  const { confirmationId, decisions, named, maker } = claims;
  return { confirmationId, decisions, named: named?.name, madeBy: maker?.name };
}

/** The claims of a token and the person who would decide. Throws if the token does not allow this use. */
async function readUse(
  engine: Engine,
  token: string,
  use: LinkUse,
): Promise<Holder & { readonly claims: TokenClaims }> {
  const claims = readSignedToken(token, engine.seal.tokenKey);
  if (claims === undefined)
    return forbid(
      'This is not a decision token of this ledger, it is incomplete, or an older version made it. Ask for a new one.',
    );
  const { confirmationId, expiresAt, decisions } = claims;
  const facts = { confirmationId };
  if (countedFrom(use, engine.ledger.now()) >= expiresAt)
    throw new QuittanceError(
      'confirmation.expired',
      `The decision token for ${confirmationId} was good until ${timeText(expiresAt)}.`,
      facts,
    );
  if (!decisions.includes(use.decision))
    forbid(`This token is good for ${decisions.join(' or ')}, not to ${use.decision}.`, facts);
  if ((await findConfirmation(engine.ledger, confirmationId)) === undefined)
    forbid(`This token is for ${confirmationId}, which is not in this ledger.`, facts);
  await refuseEnded(engine, claims, use.stands);
  const signedIn =
    use.identity && readIdentity('runtime.confirmations.decideByLink', use.identity, engine.redactor);
  const verified = signedIn !== undefined && isVerified(signedIn) ? signedIn : undefined;
  return { claims, ...holderOf(claims, use, verified) };
}

/** Refuses a link if its maker or its named person has lost the right that they had when it was made. */
async function refuseEnded(
  engine: Engine,
  { maker, named, confirmationId }: TokenClaims,
  stands: StandsAtHost | undefined,
): Promise<void> {
  const rights = await readRights(engine.ledger);
  for (const person of [maker, named]) {
    if (person?.identity === undefined) continue;
    const { name, identity } = person;
    const why = (await whyEndedAtHost(rights, { name, identity }, stands)) ?? whyEnded(rights, identity);
    if (why !== undefined)
      forbid(
        `This link depends on ${identity.kind === 'token' ? 'the token' : 'the sign-in'} of ${name}: ${why}.`,
        { confirmationId, by: name },
      );
  }
  // They may have got another token since the link was made.
  if (named !== undefined) approverNamed(rights, named.name);
}

function whyEnded(rights: Rights, identity: DirectIdentity): string | undefined {
  const current = currentIdentity(rights, identity);
  if (typeof current === 'string') return current;
  if (identity.kind !== 'provider' || current.kind !== 'provider') return undefined;
  // The link holds the groups and roles of its maker. Rules about approvers must not count what they have lost.
  const lost = identity.groups?.find((group) => current.groups?.includes(group) !== true);
  if (lost !== undefined) return `they have left the group ${lost} since. Ask for a new link`;
  return identity.roles?.some((role) => current.roles?.includes(role) !== true) === true
    ? `their role has changed to ${current.roles?.join(', ') ?? 'none'} since. Ask for a new link`
    : undefined;
}

async function whyEndedAtHost(
  rights: Rights,
  person: LinkPerson,
  stands: StandsAtHost | undefined,
): Promise<string | undefined> {
  if (stands === undefined)
    return person.identity.kind === 'token' && !isKnown(rights, person.identity)
      ? 'the ledger does not have it, and only the HTTP server that issued it knows whether it is valid. Use the link there'
      : undefined;
  const answer = await stands(person);
  return answer === true ? undefined : answer;
}

/**
 * How the ledger knows a person that a link names. Undefined if no token has that name: the maker then vouches for them.
 * Throws if they have a token and none that allows decisions.
 */
function approverNamed(rights: Rights, name: string): DirectIdentity | undefined {
  const token = tokenOf(rights, name);
  if (token === undefined || allows(token.role, 'approver')) return token && tokenIdentity(token);
  return forbid(
    `${name} has a token with the role ${token.role}, and a decision needs approver. Name a person who may decide.`,
    { by: name },
  );
}

type Holder = { readonly by: string; readonly link: LinkIdentity };

/** The person who uses the link, as stored and shown. */
function holderOf(claims: TokenClaims, use: LinkUse, signedIn: DirectIdentity | undefined): Holder {
  const { named, maker, confirmationId } = claims;
  const facts = { confirmationId };
  const not = signedIn && whyRoleForbids(signedIn, 'approver');
  if (not !== undefined)
    forbid(
      `The signed-in person may not decide: ${not}. Sign out first if the link is meant for another person.`,
      facts,
    );
  if (named !== undefined) {
    if (use.by !== undefined && !isSpelledAlike(named.name, use.by))
      forbid(`This token is for ${named.name}, not for ${use.by}.`, facts);
    if (signedIn === undefined) return { by: named.name, link: linkIdentity(claims, { kind: 'named' }) };
    const names = namesOf(signedIn);
    if (!names.some((name) => isSpelledAlike(named.name, name)))
      forbid(`This token is for ${named.name}, and ${names[0] ?? 'another person'} is signed in.`, facts);
    return { by: named.name, link: linkIdentity(claims, { kind: 'signed_in', identity: signedIn }) };
  }
  if (signedIn !== undefined) {
    // A typed name cannot change what a token or a system says about a person.
    const by =
      signedIn.kind === 'provider'
        ? (signedIn.name ?? use.by ?? signedIn.subject)
        : (namesOf(signedIn)[0] ?? '');
    return { by, link: linkIdentity(claims, { kind: 'signed_in', identity: signedIn }) };
  }
  if (maker === undefined)
    return forbid(
      'This link was made by the service and names no person, so it gives no right by itself. Sign in to decide with it.',
      facts,
    );
  const name = use.by;
  if (name === undefined)
    throw new QuittanceError(
      'config.invalid',
      'runtime.confirmations.decideByLink: this token names no one, so by must be the name of the person who decides.',
    );
  return {
    by: `${name}, by link of ${maker.name}`,
    link: linkIdentity(claims, { kind: 'typed', name }),
  };
}

const linkIdentity = (
  { maker }: Pick<TokenClaims, 'maker'>,
  holder: LinkIdentity['holder'],
): LinkIdentity => ({
  kind: 'link',
  maker: maker === undefined ? { kind: 'service' } : { kind: 'person', ...maker },
  holder,
});

function forbid(message: string, facts: Readonly<Record<string, string>> = {}): never {
  throw new QuittanceError('confirmation.forbidden', message, facts);
}

function checkTokenOptions(options: LinkOptions): void {
  const where = 'runtime.confirmations.link';
  if (typeof options !== 'object' || options === null)
    refuse(where, 'give options, e.g. { expiresInMs: 3_600_000 }.');
  checkKeys(where, options, optionNames);
  const { by, byIdentity, madeBy, identity, decisions, expiresInMs } = options;
  if (!Number.isSafeInteger(expiresInMs) || expiresInMs < 1)
    refuse(where, 'expiresInMs must be a whole number of milliseconds, at least 1.');
  const { longestMs } = limits.link;
  if (expiresInMs > longestMs)
    refuse(
      where,
      `a link may last 7 days (expiresInMs ${longestMs}) at most, found ${expiresInMs}. Make a new one when it ends.`,
    );
  if (by !== undefined) checkName(where, by);
  if (madeBy !== undefined) checkName(where, madeBy, 'madeBy');
  if (byIdentity !== undefined && by === undefined)
    refuse(where, 'byIdentity is about by, which is missing.');
  if (identity !== undefined && madeBy === undefined)
    refuse(where, 'identity is about madeBy, which is missing.');
  if (
    decisions !== undefined &&
    !(Array.isArray(decisions) && decisions.length > 0 && decisions.every(isLinkDecision))
  )
    refuse(where, 'decisions must be a list of approve and deny.');
}

function checkTokenUse(use: LinkUse): void {
  const where = 'runtime.confirmations.decideByLink';
  if (typeof use !== 'object' || use === null)
    refuse(where, 'give a decision, e.g. { decision: "approve" }.');
  checkKeys(where, use, useNames);
  if (!isLinkDecision(use.decision)) refuse(where, 'decision must be approve or deny.');
  if (use.receivedAt !== undefined && !Number.isFinite(use.receivedAt))
    refuse(where, 'receivedAt must be a number: milliseconds since 1970.');
  if (use.stands !== undefined && typeof use.stands !== 'function')
    refuse(where, 'stands must be a function.');
  if (use.by !== undefined) checkName(where, use.by);
}

function refuse(where: string, problem: string): never {
  throw new QuittanceError('config.invalid', `${where}: ${problem}`);
}

/**
 * The claims of a token.
 *
 * 1. They are in plain text and signed with a key of the ledger, so a changed character makes the token invalid. It
 *    contains no secret, but anyone who has it may use it.
 * 2. Reading never throws: a text in any other form gives undefined.
 */
export type TokenClaims = {
  readonly confirmationId: string;
  readonly inputDigest: string;
  /** Revision of the preview that is shown, if any. */
  readonly revision: number | undefined;
  /** The only person who may use it, or undefined if it names no one. */
  readonly named: NamedPerson | undefined;
  /** The person who made it and whose permission it uses, or undefined if the service made it. */
  readonly maker: LinkPerson | undefined;
  readonly decisions: readonly LinkDecision[];
  /** By the ledger's clock. */
  readonly expiresAt: number;
};

/** A person named in a link, with their identification at the time it was made. */
type LinkPerson = { readonly name: string; readonly identity: DirectIdentity };
/** The maker may know the named person, e.g. by that person's token, or only vouch for the name. */
type NamedPerson = { readonly name: string; readonly identity: DirectIdentity | undefined };

/** The decisions that a token allows: no edits and no answers to the model. */
export type LinkDecision = 'approve' | 'deny';

/** `qdt1.` tokens did not say how their maker was identified. They are no longer accepted. */
const prefix = 'qdt2.';

export function writeSignedToken(claims: TokenClaims, key: Uint8Array): string {
  const { confirmationId, inputDigest, revision, named, maker, decisions, expiresAt } = claims;
  const fields: JsonValue = [
    confirmationId,
    inputDigest,
    revision ?? null,
    named === undefined ? null : personToJson(named),
    maker === undefined ? null : personToJson(maker),
    decisions,
    expiresAt,
  ];
  const payload = Buffer.from(JSON.stringify(fields), 'utf8').toString('base64url');
  return `${prefix}${payload}.${sign(payload, key).toString('base64url')}`;
}

/** The claims of a token, if it was signed with this key. */
export function readSignedToken(token: unknown, key: Uint8Array): TokenClaims | undefined {
  if (typeof token !== 'string' || token.length > limits.link.tokenChars || !token.startsWith(prefix))
    return undefined;
  const [payload, signature, more] = token.slice(prefix.length).split('.');
  if (payload === undefined || signature === undefined || more !== undefined) return undefined;
  const given = Buffer.from(signature, 'base64url');
  const made = sign(payload, key);
  // Decoding ignores characters outside base64url, so only the exact text we wrote is accepted.
  if (given.length !== made.length || given.toString('base64url') !== signature) return undefined;
  return timingSafeEqual(given, made) ? readClaims(payload) : undefined;
}

const sign = (payload: string, key: Uint8Array): Buffer =>
  createHmac('sha256', key).update(`${prefix}${payload}`, 'utf8').digest();

/** The signed text was written by this package, perhaps by a newer version. */
function readClaims(payload: string): TokenClaims | undefined {
  let fields: JsonValue;
  try {
    fields = readJsonText(Buffer.from(payload, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
  if (!Array.isArray(fields) || fields.length !== 7) return undefined;
  const [confirmationId, inputDigest, revision, named, maker, decisions, expiresAt] =
    fields as readonly JsonValue[];
  if (typeof confirmationId !== 'string' || typeof inputDigest !== 'string') return undefined;
  if (revision !== null && typeof revision !== 'number') return undefined;
  if (!Array.isArray(decisions) || !decisions.every(isLinkDecision) || typeof expiresAt !== 'number')
    return undefined;
  const namedPerson = named === null ? undefined : readPerson(named);
  const makerPerson = maker === null ? undefined : readPerson(maker);
  if (named !== null && namedPerson === undefined) return undefined;
  if (maker !== null && makerPerson?.identity === undefined) return undefined;
  return {
    confirmationId,
    inputDigest,
    revision: revision ?? undefined,
    named: namedPerson,
    maker: makerPerson && { name: makerPerson.name, identity: makerPerson.identity as DirectIdentity },
    decisions,
    expiresAt,
  };
}

const personToJson = ({ name, identity }: NamedPerson): JsonObject => ({
  name,
  ...(identity !== undefined && { identity }),
});

function readPerson(value: JsonValue | undefined): NamedPerson | undefined {
  if (!isJsonObject(value) || typeof value['name'] !== 'string') return undefined;
  const { name } = value;
  if (value['identity'] === undefined) return { name, identity: undefined };
  const identity = readDirectIdentity(value['identity']);
  return identity && { name, identity };
}

const isLinkDecision = (value: unknown): value is LinkDecision => value === 'approve' || value === 'deny';
