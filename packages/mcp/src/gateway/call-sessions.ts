/**
 * The sessions in which calls are recorded. A connection says little about a conversation: clients reconnect, and repeat
 * lost requests on a fresh process. Calls of one caller with one client therefore share a session until they pause, so
 * that a repeat finds the first call.
 */
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { timeText } from 'quittance/internal/base/deadlines';
import { shortHash } from './short-hash.ts';
import type { ClientRequest } from './client-request.ts';
import { textOf } from './relayed-request.ts';
import { findSessions } from 'quittance/internal/ledger/reads';

/** A pause of this length ends a session. */
const pauseMs = 8 * 3_600_000;

export class CallSessions {
  readonly #ledger: OpenLedger;
  readonly #known = new Map<string, { readonly sessionId: Promise<string>; usedAt: number }>();

  constructor(ledger: OpenLedger) {
    this.#ledger = ledger;
  }

  async find({ caller, client }: Pick<ClientRequest, 'caller' | 'client'>): Promise<string> {
    const prefix = `${prefixOf(caller)}${plain(textOf(client['name']) ?? 'client')}`;
    const now = this.#ledger.now();
    const known = this.#known.get(prefix);
    if (known !== undefined && now - known.usedAt < pauseMs) {
      known.usedAt = now;
      return known.sessionId;
    }
    const sessionId = this.#resume(prefix, now);
    this.#known.set(prefix, { sessionId, usedAt: now });
    sessionId.catch(() => this.#known.delete(prefix));
    return sessionId;
  }

  /** Is it a session of this caller, with any client? */
  isOf(sessionId: string, caller: ClientRequest['caller']): boolean {
    return sessionId.startsWith(prefixOf(caller));
  }

  /** Continues the last session of this prefix, also one of another process. */
  async #resume(prefix: string, now: number): Promise<string> {
    const { rows } = await findSessions(this.#ledger, {
      text: `${prefix}:`,
      since: now - pauseMs,
      limit: 20,
    });
    const last = rows.find(({ sessionId }) => sessionId.startsWith(`${prefix}:`));
    return last?.sessionId ?? `${prefix}:${timeText(now).replaceAll(/[^\d]/g, '').slice(0, 14)}`;
  }
}

const prefixOf = (caller: ClientRequest['caller']): string => `mcp:${plain(caller.id)}:`;

/** Names come from clients: only plain ones are used as they are. */
const plain = (name: string): string => (/^[\w.@-]{1,40}$/.test(name) ? name : shortHash(name));
