/**
 * One run of a body, raced against its deadline.
 *
 * 1. The body's end, the deadline and a cancellation race. The first one decides and the others change
 *    nothing.
 * 2. A result after the deadline is late even if no timer fired: a body that blocked the thread past its
 *    deadline did not finish in time.
 * 3. Anything that a body does after it lost the race goes to `onLate`, once.
 */
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

export type AttemptBounds = {
  readonly budgetMs: number;
  readonly idleMs: number | undefined;
  readonly graceMs: number;
};

export type OnLate = (end: BodyEnd, elapsedMs: number) => void;

/** Returns synchronously if the body did. */
export function runBody(
  live: ReadyCall,
  context: BodyContext,
  bounds: AttemptBounds,
  onLate: OnLate,
): AttemptEnd | Promise<AttemptEnd> {
  const { clock } = live.engine;
  const startedAtMs = clock.monotonicMs();
  let end: BodyEnd;
  try {
    const returned = live.tool.run(inputForTool(live.tool.input, live.input), context);
    if (isPromiseLike(returned)) return new Race(live, context, bounds, onLate, startedAtMs).run(returned);
    end = { type: 'returned', value: returned };
  } catch (error) {
    end = { type: 'threw', error };
  }
  const elapsedMs = clock.monotonicMs() - startedAtMs;
  if (elapsedMs <= bounds.budgetMs) return end;
  onLate(end, elapsedMs);
  return { type: 'timed_out', idle: false };
}

/** Reading a foreign promise runs foreign code, which may throw. */
function promiseOf(returned: PromiseLike<unknown>): Promise<unknown> {
  try {
    return Promise.resolve(returned);
  } catch (error) {
    return Promise.reject(error as Error);
  }
}

class Race {
  readonly #live: ReadyCall;
  readonly #context: BodyContext;
  readonly #bounds: AttemptBounds;
  readonly #onLate: OnLate;
  readonly #startedAtMs: number;
  #tell: ((end: AttemptEnd) => void) | undefined;
  #body: Promise<void> | undefined;
  #deadline: DeadlineWatch | undefined;
  #idle: DeadlineWatch | undefined;
  #grace: DeadlineWatch | undefined;

  constructor(
    live: ReadyCall,
    context: BodyContext,
    bounds: AttemptBounds,
    onLate: OnLate,
    startedAtMs: number,
  ) {
    this.#live = live;
    this.#context = context;
    this.#bounds = bounds;
    this.#onLate = onLate;
    this.#startedAtMs = startedAtMs;
  }

  run(returned: PromiseLike<unknown>): Promise<AttemptEnd> {
    const { deadlines, clock } = this.#live.engine;
    const { budgetMs, idleMs } = this.#bounds;
    return new Promise((resolve) => {
      this.#tell = resolve;
      // A body may have worked for a while before its first wait.
      const leftMs = Math.max(0, this.#startedAtMs + budgetMs - clock.monotonicMs());
      this.#deadline = deadlines.watch(leftMs, () => this.#timeOut(false));
      if (idleMs !== undefined) {
        this.#idle = deadlines.watch(idleMs, () => this.#timeOut(true));
        this.#context.onProgress = () => this.#idle?.move(idleMs);
      }
      this.#live.signals.onCancel = () => this.#cancel();
      this.#body = promiseOf(returned).then(
        (value) => this.#end({ type: 'returned', value }),
        (error: unknown) => this.#end({ type: 'threw', error }),
      );
      // Cancelled between its intent and its first step: the body must still see the aborted signal.
      if (this.#live.signals.cancelled !== undefined) this.#cancel();
    });
  }

  #decide(end: AttemptEnd): void {
    const tell = this.#tell;
    this.#tell = undefined;
    this.#context.over = true;
    this.#context.onProgress = undefined;
    this.#live.signals.onCancel = undefined;
    this.#deadline?.stop();
    this.#idle?.stop();
    this.#grace?.stop();
    tell?.(end);
  }

  #end(end: BodyEnd): void {
    const elapsedMs = this.#live.engine.clock.monotonicMs() - this.#startedAtMs;
    if (this.#tell !== undefined && elapsedMs <= this.#bounds.budgetMs) return this.#decide(end);
    if (this.#tell !== undefined) this.#decide({ type: 'timed_out', idle: false });
    this.#onLate(end, elapsedMs);
  }

  #timeOut(idle: boolean): void {
    if (this.#tell === undefined) return;
    this.#decide({ type: 'timed_out', idle });
    this.#context.abort(new DOMException('The tool ran out of time.', 'TimeoutError'));
    this.#outlive();
  }

  #cancel(): void {
    const reason = this.#live.signals.cancelled ?? 'cancelled';
    this.#context.abort(new DOMException(reason, 'AbortError'));
    this.#grace = this.#live.engine.deadlines.watch(this.#bounds.graceMs, () => {
      if (this.#tell === undefined) return;
      this.#decide({ type: 'cancelled', reason });
      this.#outlive();
    });
  }

  /** The body continues after its call has ended. This keeps track of it. */
  #outlive(): void {
    const body = this.#body;
    if (body === undefined) return;
    const { stragglers } = this.#live.engine;
    stragglers.add(body);
    void body.finally(() => stragglers.delete(body));
  }
}
