/**
 * Calls that clients requested from this server, with the request of each call id.
 *
 * A call is handed only to a client whose request is known to be the one that made the call.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { canonicalJson } from 'quittance/internal/base/canonical';
import type { JsonObject } from 'quittance/internal/base/json';
import type { ToolOutcome } from 'quittance/internal/call/outcome';
import type { PendingCall, Turn } from 'quittance/internal/runtime/turn';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { NewCall } from './api/call.ts';
import { Asking } from './asking.ts';

type Asked = { readonly digest: string; readonly asking: Asking<ToolOutcome | PendingCall> };

const mostCalls = 10_000;
const mostTurns = 2_000;

export class AskedCalls {
  readonly #key = randomBytes(32);
  /** The digest of the request that made each call. */
  readonly #calls = new Map<string, string>();
  readonly #turns = new Map<string, Turn>();
  /** Requests that the runtime has not answered yet, by call. */
  readonly #asking = new Map<string, Asked>();

  /** Tells requests with the same id apart. Keyed, because arguments may hold secrets. */
  digest({ call }: NewCall): string {
    const text =
      typeof call.arguments === 'string'
        ? call.arguments
        : canonicalJson(call.arguments satisfies JsonObject);
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([call.name, text]))
      .digest('hex');
  }

  /** Is this the request that made the call? Undefined if this server does not know. */
  isSame(sessionId: string, callId: string, digest: string): boolean | undefined {
    const known = this.#calls.get(keyOf(sessionId, callId));
    return known === undefined ? undefined : known === digest;
  }

  note(sessionId: string, callId: string, digest: string): void {
    const key = keyOf(sessionId, callId);
    if (this.#calls.has(key)) return;
    this.#calls.set(key, digest);
    dropOldest(this.#calls, mostCalls);
  }

  /** The same request again, while the first is under way, waits for the same answer. */
  asking(
    sessionId: string,
    callId: string,
    digest: string,
    ask: () => Promise<ToolOutcome | PendingCall>,
  ): Asking<ToolOutcome | PendingCall> {
    const key = keyOf(sessionId, callId);
    const known = this.#asking.get(key);
    if (known?.digest === digest) return known.asking;
    const asking = new Asking(ask(), () => {
      if (this.#asking.get(key)?.asking === asking) this.#asking.delete(key);
    });
    if (known === undefined) this.#asking.set(key, { digest, asking });
    return asking;
  }

  /** All requests with one turn id share one turn and its memory. */
  turnOf(runtime: Runtime, sessionId: string, turnId: string | undefined): Turn {
    if (turnId === undefined) return runtime.turn({ sessionId });
    const key = keyOf(sessionId, turnId);
    const turn = this.#turns.get(key) ?? runtime.turn({ sessionId, turnId });
    this.#turns.delete(key);
    this.#turns.set(key, turn);
    dropOldest(this.#turns, mostTurns);
    return turn;
  }
}

const keyOf = (sessionId: string, id: string): string => JSON.stringify([sessionId, id]);

function dropOldest(items: Map<string, unknown>, most: number): void {
  for (const key of items.keys()) {
    if (items.size <= most) break;
    items.delete(key);
  }
}
