import { isPromiseLike } from '../tool/when-ready.ts';
import type { CallInHand } from './call-in-hand.ts';
import type { Gate, Stop } from './gates/gate.ts';

/** Walks the gates in order until one stops the call. What each took is on the record of the decision. */
export async function walk(hand: CallInHand, gates: readonly Gate[]): Promise<Stop | undefined> {
  const { clock } = hand.engine;
  let before = clock.monotonicMs();
  for (const gate of gates) {
    let stop = gate.check(hand);
    if (isPromiseLike(stop)) stop = await stop;
    const after = clock.monotonicMs();
    hand.passages.push({ gate: gate.name, elapsedUs: Math.round((after - before) * 1_000) });
    before = after;
    if (stop !== undefined) return stop;
    if (hand.cancelled !== undefined) return cancelStop(hand.cancelled);
  }
  return undefined;
}

export const cancelStop = (reason: string): Stop => ({
  type: 'fail',
  code: 'tool.cancelled',
  error: `The call was cancelled before it ran: ${reason}.`,
});

/** Puts what the gates found on the record. */
export function rule(hand: CallInHand, stop: Stop | undefined): void {
  const { prepared, requested } = hand;
  const effective = prepared?.effective;
  const decision =
    stop !== undefined && stop.type !== 'copy' ? 'deny' : hand.asks.length > 0 ? 'ask' : 'allow';
  const lastGate = hand.passages.at(-1)?.gate ?? 'recall';
  hand.apply({
    type: 'rule',
    decision,
    gates: hand.passages,
    decidedBy:
      decision === 'allow'
        ? undefined
        : stop?.type === 'deny' && stop.by
          ? stop.by
          : decision === 'ask'
            ? hand.asks[0]?.by
            : { type: 'gate', name: lastGate },
    policyVersion: undefined,
    effectiveInput:
      effective === undefined || effective === requested ? undefined : (effective.kept as never),
    inputDigest: effective?.digest,
    changes: prepared?.changes ?? [],
  });
  if (stop?.type === 'deny' && stop.exhausted !== undefined)
    hand.apply({ type: 'exhaust', ...stop.exhausted });
  hand.passages = [];
}
