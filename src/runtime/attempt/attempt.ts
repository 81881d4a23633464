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
import { Later } from '../../base/later.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { BodyContext } from './body-context.ts';
import type { ReadyCall } from '../state/call-stages.ts';
import { inputForTool } from '../input/input-for-tool.ts';
import { ObservedBody } from './observed-body.ts';
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
  const observed = observer?.isAround === true ? new ObservedBody(attempt) : undefined;
  let end: BodyEnd;
  try {
    const returned =
      observer === undefined || observed === undefined
        ? tool.run(inputForTool(tool.input, input), context)
        : observer.runBody(observed);
    if (isPromiseLike(returned)) return new Race(attempt).run(returned);
    end = { type: 'returned', value: returned };
  } catch (error) {
    end = { type: 'threw', error };
  }
  const elapsedMs = (observed?.endedAtMs ?? engine.clock.monotonicMs()) - attempt.startedAtMs;
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

class Race<Judged> extends Later<Judged> {
  readonly #attempt: RunningAttempt<Judged>;
  #isDecided = false;
  #body: Promise<void> | undefined;
  #deadline: DeadlineWatch | undefined;
  /** Few attempts have these: they take no room until they are set. */
  declare private idle: DeadlineWatch | undefined;
  declare private grace: DeadlineWatch | undefined;

  constructor(attempt: RunningAttempt<Judged>) {
    super();
    this.#attempt = attempt;
  }

  run(returned: PromiseLike<unknown>): this {
    const { live, context, startedAtMs, budgetMs } = this.#attempt;
    const { engine, signals, tool } = live;
    this.#deadline = engine.deadlines.watchUntil(startedAtMs + budgetMs, this);
    if (tool.idleTimeoutMs !== undefined) this.#watchProgress(context, tool.idleTimeoutMs);
    signals.running = this;
    this.#body = promiseOf(returned).then(
      (value) => this.#end({ type: 'returned', value }),
      (error: unknown) => this.#end({ type: 'threw', error }),
    );
    // Cancelled between its intent and its first step: the body must still see the aborted signal.
    if (signals.cancelled !== undefined) this.cancel();
    return this;
  }

  #watchProgress(context: BodyContext, idleTimeoutMs: number): void {
    this.idle = this.#attempt.live.engine.deadlines.watch(idleTimeoutMs, () => this.#timeOut(true));
    context.onProgress = () => this.idle?.move(idleTimeoutMs);
  }

  /** Decides the race. False if it was decided before. */
  #decide(): boolean {
    if (this.#isDecided) return false;
    const { live, context } = this.#attempt;
    this.#isDecided = true;
    context.over = true;
    if (context.onProgress !== undefined) context.onProgress = undefined;
    live.signals.running = undefined;
    this.#deadline?.stop();
    this.idle?.stop();
    this.grace?.stop();
    return true;
  }

  #judge(end: AttemptEnd): void {
    let judged: Awaitable<Judged>;
    try {
      judged = this.#attempt.judge(end);
    } catch (error) {
      return this.reject(error);
    }
    this.resolve(judged);
  }

  #end(end: BodyEnd): void {
    const { live, startedAtMs, budgetMs } = this.#attempt;
    const elapsedMs = live.engine.clock.monotonicMs() - startedAtMs;
    const isFirst = this.#decide();
    if (isFirst && elapsedMs <= budgetMs) return this.#judge(end);
    if (isFirst) this.#judge({ type: 'timed_out', idle: false });
    this.#attempt.comesLate(end, elapsedMs);
  }

  #timeOut(idle: boolean): void {
    if (!this.#decide()) return;
    this.#attempt.context.abort(new DOMException('The tool ran out of time.', 'TimeoutError'));
    this.#outlive();
    this.#judge({ type: 'timed_out', idle });
  }

  onDeadline(): void {
    this.#timeOut(false);
  }

  cancel(): void {
    const { live, context } = this.#attempt;
    const reason = live.signals.cancelled ?? 'cancelled';
    context.abort(new DOMException(reason, 'AbortError'));
    this.grace = live.engine.deadlines.watch(live.engine.cancelGraceMs, () => {
      if (!this.#decide()) return;
      this.#outlive();
      this.#judge({ type: 'cancelled', reason });
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
