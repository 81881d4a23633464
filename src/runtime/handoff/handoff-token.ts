/**
 * Proves that a worker has claimed a call. The token is sealed, so only holders of the ledger's key can make
 * or read one. It names session, call, attempt, worker and expiry. The ledger stores only a keyed digest, so
 * a reader of the ledger cannot report.
 */
import { keyedDigestJson } from '../../base/canonical.ts';
import type { JsonValue } from '../../base/json.ts';
import { readJsonText } from '../../base/json.ts';
import type { Seal } from '../../ledger/seal.ts';

export type HandoffGrant = {
  readonly sessionId: string;
  readonly callId: string;
  readonly attempt: number;
  readonly worker: string;
  /** By the ledger's clock. */
  readonly expiresAt: number;
};

const purpose = 'quittance hand-off token';

export const makeHandoffToken = (seal: Seal, grant: HandoffGrant): string =>
  seal.seal(
    JSON.stringify([grant.sessionId, grant.callId, grant.attempt, grant.worker, grant.expiresAt]),
    purpose,
  );

export const tokenDigest = (seal: Seal, token: string): string =>
  keyedDigestJson(seal.digestKey, [purpose, token]);

/** The claim that the token proves, or undefined if it is not from this ledger. */
export function readHandoffToken(seal: Seal, token: unknown): HandoffGrant | undefined {
  if (typeof token !== 'string' || token.length > longest) return undefined;
  try {
    const [sessionId, callId, attempt, worker, expiresAt] = readJsonText(
      seal.open(token, purpose),
    ) as readonly JsonValue[]; // we sealed it as this list
    return typeof sessionId === 'string' &&
      typeof callId === 'string' &&
      typeof attempt === 'number' &&
      typeof worker === 'string' &&
      typeof expiresAt === 'number'
      ? { sessionId, callId, attempt, worker, expiresAt }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Far longer than any real token. */
const longest = 1_000_000;
