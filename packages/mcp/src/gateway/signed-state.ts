/**
 * A text that a client returns to name its call: the `requestState` of a question, or the id of a task. It is signed
 * with a key of the ledger and bound to the caller, the digest of the request and a time. It holds no secret.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { isJsonObject, parseJson } from 'quittance/internal/base/json';

export type CallState = {
  readonly sessionId: string;
  readonly callId: string;
  readonly callerId: string;
  /** The caller could do more than read when the call was made. */
  readonly mayWrite?: boolean;
  /** Of the tool and its arguments. */
  readonly digest: string;
  /** By the ledger's clock. */
  readonly expiresAt: number;
};

/** How long a client may take to come back with a state, or to ask about a task. */
export const stateLastsMs: number = 24 * 3_600_000;

const longest = 4_096;

export class StateSigner {
  readonly #key: Uint8Array;
  readonly #now: () => number;

  constructor(sealKey: Uint8Array, now: () => number) {
    // A key of its own: a state can never be read as a decision link.
    this.#key = createHmac('sha256', sealKey).update('quittance/mcp/state', 'utf8').digest();
    this.#now = now;
  }

  write(state: CallState): string {
    const payload = Buffer.from(JSON.stringify(state), 'utf8').toString('base64url');
    return `qms1.${payload}.${this.#sign(payload)}`;
  }

  /** Undefined unless this ledger's key signed it and it has not expired. Never throws. */
  read(text: string): CallState | undefined {
    if (text.length > longest) return undefined;
    const [prefix, payload, signature, more] = text.split('.');
    if (prefix !== 'qms1' || payload === undefined || signature === undefined || more !== undefined)
      return undefined;
    const made = Buffer.from(this.#sign(payload));
    const given = Buffer.from(signature);
    if (given.length !== made.length || !timingSafeEqual(given, made)) return undefined;
    const state = parseJson(Buffer.from(payload, 'base64url').toString('utf8'));
    if (!state.ok || !isJsonObject(state.value)) return undefined;
    // The signed text was written above.
    const read = state.value as unknown as CallState;
    return read.expiresAt > this.#now() ? read : undefined;
  }

  #sign(payload: string): string {
    return createHmac('sha256', this.#key).update(payload, 'utf8').digest('base64url');
  }
}
