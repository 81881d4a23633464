import type { Awaitable, JsonObject } from '../../base/json.ts';
import type { DecidedBy } from '../../call/event.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import type { Gate, Stop } from '../state/gate.ts';
import { keepSteps } from '../rules/follow-workflows.ts';
import { cancelStop, unlessOver } from './unless-over.ts';

/** Walks the gates in order until one stops the call. Where a gate had to wait, how long is on the record. */
export function walk(
  hand: CallInHand,
  gates: readonly Gate[],
  heldBefore = false,
): Awaitable<Stop | undefined> {
  for (let at = 0; at < gates.length; at++) {
    const gate = gates[at] as Gate;
    const answer = gate.check(hand);
    if (isPromiseLike(answer)) return walkOn(hand, gates, at, answer, heldBefore);
    const stop = pass(hand, gate, answer);
    if (stop !== undefined) return stop;
  }
  return undefined;
}

/** The rest of the way, from a gate that has to wait. Most calls meet none. */
async function walkOn(
  hand: CallInHand,
  gates: readonly Gate[],
  from: number,
  waiting: PromiseLike<Stop | undefined>,
  heldBefore: boolean,
): Promise<Stop | undefined> {
  let answer: Awaitable<Stop | undefined> = waiting;
  for (let at = from; at < gates.length; at++) {
    const gate = gates[at] as Gate;
    if (at > from) answer = gate.check(hand);
    const found = isPromiseLike(answer) ? await timed(hand, gate, answer, heldBefore) : answer;
    const stop = pass(hand, gate, found);
    if (stop !== undefined) return stop;
  }
  return undefined;
}

function pass(hand: CallInHand, { name }: Gate, stop: Stop | undefined): Stop | undefined {
  hand.lastGate = name;
  return stop ?? (hand.cancelled === undefined ? undefined : cancelStop(hand.cancelled));
}

async function timed(
  hand: CallInHand,
  { name }: Gate,
  answer: PromiseLike<Stop | undefined>,
  heldBefore: boolean,
): Promise<Stop | undefined> {
  const { clock } = hand.engine;
  const startedAtMs = clock.monotonicMs();
  const waited = await unlessOver(hand, answer, heldBefore);
  hand.passages = [
    ...hand.passages,
    { gate: name, elapsedUs: Math.round((clock.monotonicMs() - startedAtMs) * 1_000) },
  ];
  if (waited.type === 'came') return waited.value;
  // A preview that nobody waits for must not write beside what ends the call.
  hand.abandon?.();
  return waited.stop;
}

const nothing: readonly never[] = [];

/** Puts what the gates found on the record. */
export function rule(hand: CallInHand, stop: Stop | undefined): void {
  const { prepared, requested } = hand;
  const effective = prepared?.effective;
  const decision =
    stop !== undefined && stop.type !== 'copy' ? 'deny' : hand.asks.length > 0 ? 'ask' : 'allow';
  if (hand.workflowSteps.length > 0) keepSteps(hand, decision);
  hand.apply({
    type: 'rule',
    decision,
    gates: hand.passages,
    decidedBy: decision === 'allow' ? giverOf(hand) : deciderOf(hand, stop),
    policyVersion: hand.policy?.version,
    // Redacting an object gives an object.
    effectiveInput:
      effective === undefined || effective === requested ? undefined : (effective.kept as JsonObject),
    inputDigest: effective?.digest,
    inputForm: prepared?.form,
    acceptedInput: prepared?.acceptedKept,
    artifacts: prepared?.artifacts ?? nothing,
    changes: prepared?.changes ?? nothing,
    rules: hand.rules,
    grantId: decision === 'allow' ? hand.grant?.grant.grantId : undefined,
    sideEffect: hand.policy?.toolFacts(hand.request.name).sideEffect,
  });
  if (stop?.type === 'deny' && stop.exhausted !== undefined)
    hand.apply({ type: 'exhaust', ...stop.exhausted });
  hand.passages = nothing;
}

/** Who let the call through beforehand. */
const giverOf = ({ grant }: CallInHand): DecidedBy | undefined =>
  grant === undefined
    ? undefined
    : {
        type: 'person',
        name: grant.grant.by,
        ...(grant.grant.identity !== undefined && { identity: grant.grant.identity }),
      };

const deciderOf = (hand: CallInHand, stop: Stop | undefined): DecidedBy | undefined => {
  if (stop === undefined) return hand.asks[0]?.by;
  return (stop.type === 'deny' ? stop.by : undefined) ?? { type: 'gate', name: hand.lastGate };
};
