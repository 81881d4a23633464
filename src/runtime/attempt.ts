/**
 * One run of a body, raced against its deadline.
 *
 * 1. The body's end, the deadline and a cancellation race; the first one decides and the others change nothing.
 * 2. A result that comes after the deadline is late even where nothing else kept the loop from seeing it: a body
 *    that blocked the thread past its deadline did not finish in time.
 * 3. Whatever a body does after it lost the race is handed to `onLate`, once.
 */
import { isPromiseLike } from '../tool/when-ready.ts';
import type { BodyContext } from './body-context.ts';
import type { CallInHand } from './call-in-hand.ts';

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

export function runBody(
  hand: CallInHand,
  context: BodyContext,
  bounds: AttemptBounds,
  onLate: (end: BodyEnd, elapsedMs: number) => void,
): AttemptEnd | Promise<AttemptEnd> {
  const { clock } = hand.engine;
  const startedAtMs = clock.monotonicMs();
  let returned: unknown;
  try {
    returned = hand.knownTool.run(hand.input.executed, context);
    if (!isPromiseLike(returned)) return inTime({ type: 'returned', value: returned });
  } catch (error) {
    return inTime({ type: 'threw', error });
  }
  return race(hand, context, bounds, returned, startedAtMs, onLate);

  function inTime(end: BodyEnd): AttemptEnd {
    const elapsedMs = clock.monotonicMs() - startedAtMs;
    if (elapsedMs <= bounds.budgetMs) return end;
    onLate(end, elapsedMs);
    return { type: 'timed_out', idle: false };
  }
}

function race(
  hand: CallInHand,
  context: BodyContext,
  { budgetMs, idleMs, graceMs }: AttemptBounds,
  returned: PromiseLike<unknown>,
  startedAtMs: number,
  onLate: (end: BodyEnd, elapsedMs: number) => void,
): Promise<AttemptEnd> {
  const { deadlines, clock, stragglers } = hand.engine;
  return new Promise((resolve) => {
    let decided = false;
    const decide = (end: AttemptEnd): void => {
      decided = true;
      context.over = true;
      deadline.stop();
      idle?.stop();
      grace?.stop();
      hand.onCancel = undefined;
      context.onProgress = undefined;
      resolve(end);
    };
    const timeOut = (isIdle: boolean): void => {
      if (decided) return;
      decide({ type: 'timed_out', idle: isIdle });
      context.abort(new DOMException('The tool ran out of time.', 'TimeoutError'));
      outlive();
    };
    const outlive = (): void => {
      stragglers.add(body);
      void body.then(() => stragglers.delete(body));
    };
    const deadline = deadlines.watch(budgetMs, () => timeOut(false));
    const idle = idleMs === undefined ? undefined : deadlines.watch(idleMs, () => timeOut(true));
    if (idle !== undefined && idleMs !== undefined) context.onProgress = () => idle.move(idleMs);
    let grace: { stop(): void } | undefined;
    hand.onCancel = () => {
      const reason = hand.cancelled ?? 'cancelled';
      context.abort(new DOMException(reason, 'AbortError'));
      grace = deadlines.watch(graceMs, () => {
        if (decided) return;
        decide({ type: 'cancelled', reason });
        outlive();
      });
    };

    const end = (result: BodyEnd): void => {
      const elapsedMs = clock.monotonicMs() - startedAtMs;
      if (!decided && elapsedMs <= budgetMs) return decide(result);
      if (!decided) decide({ type: 'timed_out', idle: false });
      onLate(result, elapsedMs);
    };
    const body: Promise<void> = Promise.resolve(returned).then(
      (value) => end({ type: 'returned', value }),
      (error: unknown) => end({ type: 'threw', error }),
    );
    // Cancelled between its intent and its first step: the body must hear of it too.
    if (hand.cancelled !== undefined) hand.onCancel();
  });
}
