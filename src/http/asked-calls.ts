/**
 * Calls that were asked for through this server: which request an id belongs to, and what was handed to whoever asked,
 * so that a request that is sent twice, because its answer got lost, gets the same answer.
 *
 * Nothing is handed to anybody whose request is not known to be the very one the call was made for.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { canonicalJson } from '../base/canonical.ts';
import type { JsonObject } from '../base/json.ts';
import type { HandoffClaim } from '../runtime/claim-handoff.ts';
import type { Runtime } from '../runtime/create-runtime.ts';
import type { Turn } from '../runtime/turn.ts';
import type { NewCall } from './api/call.ts';

type Known = { readonly digest: string; claims: { readonly actor: string; readonly claim: HandoffClaim }[] };

const mostCalls = 10_000;
const mostTurns = 2_000;

export class AskedCalls {
  readonly #key = randomBytes(32);
  readonly #calls = new Map<string, Known>();
  readonly #turns = new Map<string, Turn>();

  /** What tells one request from another under the same id. Keyed: arguments may hold secrets. */
  digest({ call }: NewCall): string {
    const text =
      typeof call.arguments === 'string'
        ? call.arguments
        : canonicalJson(call.arguments satisfies JsonObject);
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([call.name, text]))
      .digest('hex');
  }

  /** Whether this is the request the call was made for; undefined where that is not known here. */
  isSame(sessionId: string, callId: string, digest: string): boolean | undefined {
    const known = this.#calls.get(keyOf(sessionId, callId));
    return known && known.digest === digest;
  }

  note(sessionId: string, callId: string, digest: string): void {
    const key = keyOf(sessionId, callId);
    if (this.#calls.has(key)) return;
    this.#calls.set(key, { digest, claims: [] });
    dropOldest(this.#calls, mostCalls);
  }

  noteClaim(claim: HandoffClaim, actor: string): void {
    const known = this.#calls.get(keyOf(claim.sessionId, claim.callId));
    if (known !== undefined) known.claims = [{ actor, claim }];
  }

  /** What this actor was handed, while it is good. */
  claimOf(sessionId: string, callId: string, actor: string, now: number): HandoffClaim | undefined {
    return this.#calls
      .get(keyOf(sessionId, callId))
      ?.claims.find((each) => each.actor === actor && each.claim.expiresAt > now)?.claim;
  }

  /** A turn that is named is one turn, however many requests it takes: what it remembers counts for all of them. */
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
