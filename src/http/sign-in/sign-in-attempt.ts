/**
 * An attempt to sign in, sealed in a cookie of the browser that began it.
 *
 * 1. Only that browser can finish it: another site cannot sign a person in under another account.
 * 2. Any server of the ledger can finish it, and none has to remember it.
 */
import { isJsonObject, readJsonText } from '../../base/json.ts';
import type { Seal } from '../../ledger/seal.ts';
import type { Attempt } from './provider.ts';

export type SignInAttempt = Attempt & {
  readonly returnTo: string;
  /** The code of a command line that the person signs in for. */
  readonly userCode: string | undefined;
  readonly expiresAt: number;
};

export const attemptLastsMs: number = 10 * 60_000;
const context = 'sign-in attempt';

export const sealAttempt = (attempt: SignInAttempt, seal: Seal): string =>
  seal.seal(JSON.stringify(attempt), context);

/** Undefined if it is not of this ledger, or is too old. */
export function openAttempt(sealed: string, seal: Seal, now: number): SignInAttempt | undefined {
  let value;
  try {
    value = readJsonText(seal.open(sealed, context));
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { state, nonce, verifier, returnTo, userCode, expiresAt } = value;
  if (typeof state !== 'string' || typeof nonce !== 'string' || typeof verifier !== 'string')
    return undefined;
  if (typeof returnTo !== 'string' || typeof expiresAt !== 'number' || expiresAt <= now) return undefined;
  if (userCode !== undefined && typeof userCode !== 'string') return undefined;
  return { state, nonce, verifier, returnTo, userCode, expiresAt };
}
