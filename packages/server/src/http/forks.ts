/** Starts forks of sessions. A few run at a time; the end of the server ends them. */
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { SessionFork } from 'quittance/internal/replay/fork-session';
import type { RepeatableCall } from 'quittance/internal/replay/repeat-calls';
import { repeatCalls } from 'quittance/internal/replay/repeat-calls';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import type { Actor } from './actor.ts';
import { identityOf } from './actor.ts';
import type { NewFork, StartedFork } from './api/session.ts';
import { HttpRefusal } from './problem.ts';
import type { Asker, Reader } from './reader.ts';
import { forkId, recordFork } from './record-fork.ts';
import { refusePrincipal } from './actor.ts';

const mostRunning = 8;

/** A fork on record, whose calls are about to be made. */
type BegunFork = {
  readonly fork: SessionFork;
  readonly sessionId: string;
  readonly calls: readonly RepeatableCall[];
};

/** The parts of a server that forks use. */
type ForkHost = {
  readonly ledger: OpenLedger;
  readonly runtime: Runtime;
  readonly tools: readonly AnyTool[];
  readonly reader: Reader;
  /** Aborted when the server closes. */
  readonly closing: AbortSignal;
};

type Forker = Asker & { readonly actor: Actor };

export class Forks {
  readonly #onError: (error: unknown) => void;
  #running = 0;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Records the fork, and makes its calls in the background. Refuses before anything is recorded. */
  async start(
    host: ForkHost,
    asker: Forker,
    from: string,
    { callId, as = forkId(from), continue: continues = false }: NewFork,
  ): Promise<StartedFork> {
    if (this.#running >= mostRunning)
      throw new HttpRefusal(
        'http.too_many_requests',
        `${mostRunning} forks are running already. One of them may wait for an approval.`,
        {},
        { 'retry-after': '5' },
      );
    // Counted before the first wait, so that requests that come together cannot exceed the limit.
    this.#running++;
    try {
      const started = await this.#begin(host, asker, { from, callId, as });
      void this.#repeat(host, asker.actor, { ...started, continues });
      return { sessionId: as, fork: started.fork, calls: started.calls.length };
    } catch (error) {
      this.#running--;
      throw error;
    }
  }

  async #begin(
    host: ForkHost,
    asker: Forker,
    { from, callId, as }: { readonly from: string; readonly callId: string; readonly as: string },
  ): Promise<BegunFork> {
    const { ledger, tools, reader } = host;
    const plan = await reader.value('fork', { sessionId: from, callId }, asker);
    const { calls } = plan;
    for (const { principal } of calls) refusePrincipal(asker.actor, principal);
    const fork = await recordFork(ledger, tools, plan, { from, callId, as });
    return { fork, calls, sessionId: as };
  }

  async #repeat(
    { runtime, closing }: ForkHost,
    actor: Actor,
    { fork, calls, sessionId, continues }: BegunFork & { readonly continues: boolean },
  ): Promise<void> {
    try {
      await repeatCalls(runtime, calls, {
        sessionId,
        parentSessionId: fork.fromSessionId,
        askedBy: identityOf(actor),
        continues,
        signal: closing,
      });
    } catch (error) {
      // A server that closes leaves held calls to the next process.
      if (!closing.aborted) this.#onError(error);
    } finally {
      this.#running--;
    }
  }
}
