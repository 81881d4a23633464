/**
 * What proves that a worker has a call in hand. Sealed, so that nobody without the ledger's key can make or read one;
 * it says which session, call, attempt, worker and expiry it is for. The ledger keeps a keyed digest of it, never the
 * token: whoever reads the ledger cannot report.
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

/** What the token is for; undefined where it is none of this ledger's. */
export function readHandoffToken(seal: Seal, token: unknown): HandoffGrant | undefined {
  if (typeof token !== 'string' || token.length > longest) return undefined;
  try {
    const [sessionId, callId, attempt, worker, expiresAt] = readJsonText(
      seal.open(token, purpose),
    ) as readonly JsonValue[]; // sealed by us, as the list it is made of
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

/** Far more than any ids make. */
const longest = 1_000_000;
