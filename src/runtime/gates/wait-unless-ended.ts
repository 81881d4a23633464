import type { AcceptedCall } from '../state/accepted-call.ts';
import { turnIsOver } from './deadline.ts';
import type { Stop } from '../state/gate.ts';

type Waited<Value> =
  | { readonly type: 'came'; readonly value: Value }
  | { readonly type: 'over'; readonly stop: Stop };

/**
 * Waits for a check before the body, unless the call is cancelled or its turn ends first. After an approval the
 * turn's deadline no longer applies. Code of the host has a time limit of its own: see `answer-in-time.ts`.
 */
export function waitUnlessEnded<Value>(
  live: AcceptedCall,
  awaited: PromiseLike<Value>,
  heldBefore: boolean,
): Promise<Waited<Value>> {
  const { engine, turn, signals } = live;
  const leftMs = heldBefore ? Number.POSITIVE_INFINITY : turn.deadlineAtMs - engine.clock.monotonicMs();
  return new Promise((resolve, reject) => {
    let waiting = true;
    const finish = (tell: () => void): void => {
      if (!waiting) return;
      waiting = false;
      watch?.stop();
      signals.onCancel = undefined;
      tell();
    };
    const giveUp = (stop: Stop | undefined): void => {
      if (stop !== undefined) finish(() => resolve({ type: 'over', stop }));
    };
    const watch =
      leftMs === Number.POSITIVE_INFINITY
        ? undefined
        : engine.deadlines.watch(Math.max(0, leftMs), () => giveUp(turnIsOver(live)));
    signals.onCancel = () => giveUp(cancelStop(signals.cancelled ?? 'cancelled'));
    if (signals.cancelled !== undefined) signals.onCancel();
    awaited.then(
      (value) => finish(() => resolve({ type: 'came', value })),
      (error: unknown) => finish(() => reject(error as Error)),
    );
  });
}

export const cancelStop = (reason: string): Stop & { type: 'fail' } => ({
  type: 'fail',
  code: 'tool.cancelled',
  error: `The call was cancelled before it ran: ${reason}.`,
});
