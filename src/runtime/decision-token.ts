/** Tokens to decide a question with: what they are made of, and what they are worth when somebody brings one. */
import { timeText } from '../base/clock.ts';
import { QuittanceError } from '../base/error.ts';
import type { DecidingLink } from '../call/event.ts';
import type { ConfirmationView } from './confirmation-view.ts';
import { checkKeys } from './check-keys.ts';
import { decideConfirmation, findQuestion } from './decide-confirmation.ts';
import type { Desk } from './desk.ts';
import type { Engine } from './engine.ts';
import { isExpired } from './expiry.ts';
import { isSameName } from './may-decide.ts';
import type { TokenClaims, TokenDecision } from './signed-token.ts';
import { isTokenDecision, readToken, writeToken } from './signed-token.ts';

export type TokenOptions = {
  /** Who alone may use it. Without a name whoever uses it gives theirs. */
  readonly by?: string;
  /**
   * Who makes it, where that is not the host itself: they answer for whoever uses it. A name that is typed then gives
   * no right: theirs is asked for, and theirs stands on the record beside the one that was typed.
   */
  readonly madeBy?: string;
  /** What may be decided with it: both by default. */
  readonly decisions?: readonly TokenDecision[];
  /** For how long; never longer than the question itself waits. */
  readonly expiresInMs: number;
};

/** What is decided with a token. */
export type TokenUse = {
  readonly decision: TokenDecision;
  /** Who decides; may be left out where the token says so. */
  readonly by?: string;
  readonly reason?: string;
};

const optionNames = ['by', 'madeBy', 'decisions', 'expiresInMs'] as const;
const useNames = ['decision', 'by', 'reason'] as const;
const longestName = 1_000;

/** A token for the question as it stands now: its input, its preview. */
export async function makeDecisionToken(
  engine: Engine,
  confirmationId: string,
  options: TokenOptions,
): Promise<string> {
  checkTokenOptions(options);
  const { by, madeBy, decisions = ['approve', 'deny'], expiresInMs } = options;
  const { call, confirmation } = await findQuestion(engine, confirmationId);
  const now = engine.ledger.now();
  if (isExpired(confirmation, now))
    throw new QuittanceError('confirmation.expired', `The time to decide about call ${call.callId} is up.`, {
      confirmationId,
    });
  const { inputDigest, revision, expiresAt = Number.MAX_SAFE_INTEGER } = confirmation;
  const ends = Math.min(expiresAt, now + expiresInMs, Number.MAX_SAFE_INTEGER);
  return writeToken(
    { confirmationId, inputDigest, revision, by, madeBy, decisions, expiresAt: ends },
    engine.seal.tokenKey,
  );
}

/** Decides what the token is good for, with all the checks of any other decision. */
export async function decideByToken(desk: Desk, token: string, use: TokenUse): Promise<ConfirmationView> {
  checkTokenUse(use);
  const { engine } = desk;
  const claims = readToken(token, engine.seal.tokenKey);
  if (claims === undefined) return forbid('This is no decision token of this ledger, or not all of one.');
  const { confirmationId, inputDigest, revision, expiresAt, decisions } = claims;
  const facts = { confirmationId };
  if (engine.ledger.now() >= expiresAt)
    throw new QuittanceError(
      'confirmation.expired',
      `The decision token for ${confirmationId} was good until ${timeText(expiresAt)}.`,
      facts,
    );
  if (!decisions.includes(use.decision))
    forbid(`This token is good for ${decisions.join(' or ')}, not to ${use.decision}.`, facts);
  if (claims.by !== undefined && use.by !== undefined && !isSameName(claims.by, use.by))
    forbid(`This token is for ${claims.by}, not for ${use.by}.`, facts);
  const name = claims.by ?? use.by;
  if (name === undefined)
    throw new QuittanceError(
      'config.invalid',
      'runtime.decideByToken: this token names nobody, so by must be who decides.',
    );
  if ((await engine.ledger.findConfirmation(confirmationId)) === undefined)
    forbid(`This token is for ${confirmationId}, which is not in this ledger.`, facts);
  const { decision, reason } = use;
  const { by, link } = actorOf(claims, name);
  return decideConfirmation(
    desk,
    confirmationId,
    {
      decision,
      by,
      inputDigest,
      ...(revision !== undefined && { revision }),
      ...(reason !== undefined && { reason }),
    },
    link,
  );
}

/** Who decides, as it is kept and shown. Whoever made the token answers for it; a typed name stands beside theirs. */
function actorOf(
  { by, madeBy }: TokenClaims,
  name: string,
): { readonly by: string; readonly link: DecidingLink | undefined } {
  if (madeBy === undefined) return { by: name, link: undefined };
  if (by !== undefined) return { by: name, link: { by: madeBy } };
  return { by: `${name}, by link of ${madeBy}`, link: { by: madeBy, typed: name } };
}

function forbid(message: string, facts: Readonly<Record<string, string>> = {}): never {
  throw new QuittanceError('confirmation.forbidden', message, facts);
}

function checkTokenOptions(options: TokenOptions): void {
  const where = 'runtime.decisionToken';
  if (typeof options !== 'object' || options === null)
    refuse(where, 'give options, e.g. { expiresInMs: 3_600_000 }.');
  checkKeys(where, options, optionNames);
  const { by, madeBy, decisions, expiresInMs } = options;
  if (!Number.isSafeInteger(expiresInMs) || expiresInMs < 1)
    refuse(where, 'expiresInMs must be a whole number of milliseconds, at least 1.');
  checkName(where, by);
  checkName(where, madeBy, 'madeBy');
  if (
    decisions !== undefined &&
    !(Array.isArray(decisions) && decisions.length > 0 && decisions.every(isTokenDecision))
  )
    refuse(where, 'decisions must be a list of approve and deny.');
}

function checkTokenUse(use: TokenUse): void {
  const where = 'runtime.decideByToken';
  if (typeof use !== 'object' || use === null)
    refuse(where, 'give a decision, e.g. { decision: "approve" }.');
  checkKeys(where, use, useNames);
  if (!isTokenDecision(use.decision)) refuse(where, 'decision must be approve or deny.');
  checkName(where, use.by);
}

function checkName(where: string, name: unknown, option = 'by'): void {
  if (name !== undefined && (typeof name !== 'string' || name.trim() === '' || name.length > longestName))
    refuse(where, `${option} must be a name.`);
}

function refuse(where: string, problem: string): never {
  throw new QuittanceError('config.invalid', `${where}: ${problem}`);
}
