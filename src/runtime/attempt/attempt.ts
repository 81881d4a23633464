/**
 * One run of a body, raced against its deadline.
 *
 * 1. The body's end, the deadline and a cancellation race. The first one decides and the others change
 *    nothing.
 * 2. A result after the deadline is late even if no timer fired: a body that blocked the thread past its
 *    deadline did not finish in time.
 * 3. Anything that a body does after it lost the race goes to `comesLate`, once.
 */
import type { Awaitable } from '../../base/json.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { BodyContext } from './body-context.ts';
import type { ReadyCall } from '../state/call-stages.ts';
import { inputForTool } from '../input/input-for-tool.ts';
import type { DeadlineWatch } from '../../base/deadlines.ts';

export type AttemptEnd =
  | BodyEnd
  | { readonly type: 'timed_out'; readonly idle: boolean }
  | { readonly type: 'cancelled'; readonly reason: string };
export type BodyEnd =
  | { readonly type: 'returned'; readonly value: unknown }
  | { readonly type: 'threw'; readonly error: unknown };

/** The attempt that a body belongs to. */
export interface RunningAttempt<Judged> {
  readonly live: ReadyCall;
  readonly context: BodyContext;
  readonly budgetMs: number;
  startedAtMs: number;
  /** Judges the end of the body. Called once. */
  judge(end: AttemptEnd): Awaitable<Judged>;
  /** Takes anything that the body did after it lost the race. */
  comesLate(end: BodyEnd, elapsedMs: number): void;
}

/** Runs the body and has its end judged. Synchronous if both are. */
export function runBody<Judged>(attempt: RunningAttempt<Judged>): Awaitable<Judged> {
  const { live, context } = attempt;
  const { tool, input, engine } = live;
  const { observer } = live.journal;
  let end: BodyEnd;
  let endedAtMs: number | undefined;
  try {
    const returned =
      observer === undefined || !observer.isAround
        ? tool.run(inputForTool(tool.input, input), context)
        : observer.runBody(() => {
            // The time of the telemetry itself does not count.
            attempt.startedAtMs = engine.clock.monotonicMs();
            try {
              return tool.run(inputForTool(tool.input, input), context);
            } finally {
              endedAtMs = engine.clock.monotonicMs();
            }
          });
    if (isPromiseLike(returned)) return new Race(attempt).run(returned);
    end = { type: 'returned', value: returned };
  } catch (error) {
    end = { type: 'threw', error };
  }
  const elapsedMs = (endedAtMs ?? engine.clock.monotonicMs()) - attempt.startedAtMs;
  if (elapsedMs <= attempt.budgetMs) return attempt.judge(end);
  attempt.comesLate(end, elapsedMs);
  return attempt.judge({ type: 'timed_out', idle: false });
}

/** Reading a foreign promise runs foreign code, which may throw. */
function promiseOf(returned: PromiseLike<unknown>): Promise<unknown> {
  try {
    return Promise.resolve(returned);
  } catch (error) {
    return Promise.reject(error as Error);
  }
}

class Race<Judged> {
  readonly #attempt: RunningAttempt<Judged>;
  #reply: PromiseWithResolvers<Judged> | undefined = Promise.withResolvers<Judged>();
  #body: Promise<void> | undefined;
  #deadline: DeadlineWatch | undefined;
  #idle: DeadlineWatch | undefined;
  #grace: DeadlineWatch | undefined;

  constructor(attempt: RunningAttempt<Judged>) {
    this.#attempt = attempt;
  }

  run(returned: PromiseLike<unknown>): Promise<Judged> {
    const { live, context, startedAtMs, budgetMs } = this.#attempt;
    const { engine, signals, tool } = live;
    const { promise } = this.#reply as PromiseWithResolvers<Judged>; // no end yet
    // A body may have worked for a while before its first wait.
    const leftMs = Math.max(0, startedAtMs + budgetMs - engine.clock.monotonicMs());
    this.#deadline = engine.deadlines.watch(leftMs, this);
    const { idleTimeoutMs } = tool;
    if (idleTimeoutMs !== undefined) {
      this.#idle = engine.deadlines.watch(idleTimeoutMs, () => this.#timeOut(true));
      context.onProgress = () => this.#idle?.move(idleTimeoutMs);
    }
    signals.running = this;
    this.#body = promiseOf(returned).then(
      (value) => this.#end({ type: 'returned', value }),
      (error: unknown) => this.#end({ type: 'threw', error }),
    );
    // Cancelled between its intent and its first step: the body must still see the aborted signal.
    if (signals.cancelled !== undefined) this.cancel();
    return promise;
  }

  /** Decides the race. Undefined if it was decided before. */
  #decide(): PromiseWithResolvers<Judged> | undefined {
    const reply = this.#reply;
    const { live, context } = this.#attempt;
    this.#reply = undefined;
    context.over = true;
    context.onProgress = undefined;
    live.signals.running = undefined;
    this.#deadline?.stop();
    this.#idle?.stop();
    this.#grace?.stop();
    return reply;
  }

  #tell(reply: PromiseWithResolvers<Judged> | undefined, end: AttemptEnd): void {
    try {
      reply?.resolve(this.#attempt.judge(end));
    } catch (error) {
      reply?.reject(error);
    }
  }

  #end(end: BodyEnd): void {
    const { live, startedAtMs, budgetMs } = this.#attempt;
    const elapsedMs = live.engine.clock.monotonicMs() - startedAtMs;
    const isFirst = this.#reply !== undefined;
    if (isFirst && elapsedMs <= budgetMs) return this.#tell(this.#decide(), end);
    if (isFirst) this.#tell(this.#decide(), { type: 'timed_out', idle: false });
    this.#attempt.comesLate(end, elapsedMs);
  }

  #timeOut(idle: boolean): void {
    if (this.#reply === undefined) return;
    const reply = this.#decide();
    this.#attempt.context.abort(new DOMException('The tool ran out of time.', 'TimeoutError'));
    this.#outlive();
    this.#tell(reply, { type: 'timed_out', idle });
  }

  onDeadline(): void {
    this.#timeOut(false);
  }

  cancel(): void {
    const { live, context } = this.#attempt;
    const reason = live.signals.cancelled ?? 'cancelled';
    context.abort(new DOMException(reason, 'AbortError'));
    this.#grace = live.engine.deadlines.watch(live.engine.cancelGraceMs, () => {
      if (this.#reply === undefined) return;
      const reply = this.#decide();
      this.#outlive();
      this.#tell(reply, { type: 'cancelled', reason });
    });
  }

  /** The body continues after its call has ended. This keeps track of it. */
  #outlive(): void {
    const body = this.#body;
    if (body === undefined) return;
    const { stragglers } = this.#attempt.live.engine;
    stragglers.add(body);
    void body.finally(() => stragglers.delete(body));
  }
}
