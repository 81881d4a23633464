/**
 * Decision links: signed texts that decide one question.
 *
 * 1. A link uses the permissions of the person who made it and of the person it names. Both are checked when
 *    it is made and when it is used. A link made by the service gives no permission: its user must be named
 *    in it, or signed in.
 * 2. A link ends with its question, at its own expiry, and with the token of its maker. Its lifetime is
 *    limited.
 * 3. A typed name gives no permission. It is stored and marked as self-asserted.
 */
import { limits } from '../host/limits.ts';
import { timeText } from '../../base/clock.ts';
import { isQuittanceError, QuittanceError } from '../../base/error.ts';
import type { Awaitable } from '../../base/json.ts';
import type { DirectIdentity, LinkIdentity } from '../../call/event.ts';
import { isVerified, selfAsserted } from '../../call/identity.ts';
import { isSpelledAlike, namesOf } from '../../call/same-identity.ts';
import { readIdentity } from '../host/acting.ts';
import type { ConfirmationView } from '../host/confirmation-view.ts';
import { checkKeys } from '../../base/check-keys.ts';
import { countedFrom, decideConfirmation, findOpenQuestion } from './decide-confirmation.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import type { Engine } from '../state/engine.ts';
import { isExpired } from '../settle/expiry.ts';
import { whyForbidden } from '../host/may-decide.ts';
import type { LinkPerson, TokenClaims, LinkDecision } from './signed-token.ts';
import { isLinkDecision, readSignedToken, writeSignedToken } from './signed-token.ts';

/** No link lasts longer. */
export const longestLinkMs: number = 7 * 24 * 3_600_000;

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
   * Tells whether a person in the link may still decide: `true`, or why not. Without it, a link of a person with a
   * token of the HTTP server is refused. Only the server knows whether the token is still valid.
   */
  readonly stands?: (person: LinkPerson) => Awaitable<true | string>;
  /** When the decision was received, by the ledger's clock. Default: now. A denial counts from then. */
  readonly receivedAt?: number;
};

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
      : { name: by, identity: byIdentity && readIdentity(where, byIdentity, redactor) };
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

/** What the token and its use allow, and the person who would decide. Throws if nothing. */
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
  if ((await engine.ledger.queries.findConfirmation(confirmationId)) === undefined)
    forbid(`This token is for ${confirmationId}, which is not in this ledger.`, facts);
  await refuseFallen(claims, use);
  const signedIn =
    use.identity && readIdentity('runtime.confirmations.decideByLink', use.identity, engine.redactor);
  const verified = signedIn !== undefined && isVerified(signedIn) ? signedIn : undefined;
  return { claims, ...holderOf(claims, use, verified) };
}

/** Refuses a link whose maker or named person has lost the token or the sign-in that identified them. */
async function refuseFallen({ maker, named, confirmationId }: TokenClaims, use: LinkUse): Promise<void> {
  for (const person of [maker, named]) {
    if (person?.identity === undefined) continue;
    const { name, identity } = person;
    const stands = use.stands === undefined ? standsAlone(identity) : await use.stands({ name, identity });
    if (stands !== true)
      forbid(
        `This link depends on ${identity.kind === 'token' ? 'the token' : 'the sign-in'} of ${name}: ${stands}.`,
        {
          confirmationId,
          by: name,
        },
      );
  }
}

/** A host that verifies people itself decides whether their links are still valid. */
const standsAlone = ({ kind }: DirectIdentity): true | string =>
  kind === 'token'
    ? 'only the HTTP server that issued the token can say whether it is still valid. Use the link there'
    : true;

type Holder = { readonly by: string; readonly link: LinkIdentity };

/** The person who uses the link, as stored and shown. */
function holderOf(claims: TokenClaims, use: LinkUse, signedIn: DirectIdentity | undefined): Holder {
  const { named, maker, confirmationId } = claims;
  const facts = { confirmationId };
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
  if (expiresInMs > longestLinkMs)
    refuse(
      where,
      `a link may last 7 days (expiresInMs ${longestLinkMs}) at most, found ${expiresInMs}. Make a new one when it ends.`,
    );
  checkName(where, by);
  checkName(where, madeBy, 'madeBy');
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
  checkName(where, use.by);
}

function checkName(where: string, name: unknown, option = 'by'): void {
  if (
    name !== undefined &&
    (typeof name !== 'string' || name.trim() === '' || name.length > limits.nameChars)
  )
    refuse(where, `${option} must be a name.`);
}

function refuse(where: string, problem: string): never {
  throw new QuittanceError('config.invalid', `${where}: ${problem}`);
}
