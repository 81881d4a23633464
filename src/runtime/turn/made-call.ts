/**
 * A call that a turn makes: takes its end, and tells the callers.
 *
 * The caller that makes the call has a promise of its own, which is the only one of most calls. Callers that join get
 * another one when they ask.
 */
import type { Awaitable } from '../../base/json.ts';
import type { Listener } from '../../base/later.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import { ActiveCall } from '../state/active-call.ts';
import type { CallReply } from '../state/call-reply.ts';
import type { HeldHere } from '../state/call-stages.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import { awaitReply, orPending } from './await-reply.ts';
import { replyToCall, replyWithError } from './reply-to-call.ts';

export class MadeCall extends ActiveCall implements Listener<CallReply | HeldHere> {
  readonly #state: RuntimeState;
  readonly #key: string;
  #isStarted = false;
  #given: Promise<CallReply> | CallReply | undefined;
  /** For the caller that makes the call. */
  #resolve: ((outcome: Awaitable<ToolOutcome>) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;
  /** For callers that joined before the end. */
  declare private joined: PromiseWithResolvers<CallReply> | undefined;

  constructor(state: RuntimeState, key: string, live: AcceptedCall) {
    super(live);
    this.#state = state;
    this.#key = key;
  }

  /** From now on other callers may join. */
  started(): void {
    this.#isStarted = true;
  }

  override get reply(): Promise<CallReply> | undefined {
    if (!this.#isStarted) return undefined;
    if (this.#given !== undefined) return Promise.resolve(this.#given);
    return (this.joined ??= Promise.withResolvers<CallReply>()).promise;
  }

  /** The outcome for the caller that makes the call. */
  outcome(): Promise<ToolOutcome> {
    if (this.#given === undefined && this.#resolve === undefined)
      return new Promise((resolve, reject) => {
        this.#resolve = resolve;
        this.#reject = reject;
      });
    const given = this.#given;
    return given === undefined || given instanceof Promise || given.type === 'held'
      ? this.#untilEnd()
      : Promise.resolve(given);
  }

  onValue(found: CallReply | HeldHere): void {
    try {
      const reply = replyToCall(this.#state, this.#key, this.live, found);
      if (isPromiseLike(reply)) this.#tellLater(reply);
      else this.#tell(reply);
    } catch (error) {
      this.#fail(error);
    }
  }

  onError(error: unknown): void {
    try {
      this.#tell(replyWithError(this.#state, this.#key, this.live, error));
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #tellLater(reply: PromiseLike<CallReply>): void {
    void reply.then(
      (given) => this.#tell(given),
      (error: unknown) => this.#fail(error),
    );
  }

  #tell(reply: CallReply): void {
    this.#given = reply;
    this.#resolve?.(reply.type === 'held' ? this.#untilEnd() : reply);
    this.joined?.resolve(reply);
  }

  #fail(error: unknown): void {
    const failed = Promise.reject<CallReply>(error as Error);
    failed.catch(() => undefined); // each caller gets it too
    this.#given = failed;
    this.#reject?.(error);
    this.joined?.resolve(failed);
  }

  async #untilEnd(): Promise<ToolOutcome> {
    return orPending(await awaitReply(this, this.live.turn, this.live.options));
  }
}
