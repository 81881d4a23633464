/** A person put other arguments in the place of those that were asked for: they go through the same checks. */
import type { CallInHand } from './call-in-hand.ts';
import type { Stop } from './gates/gate.ts';
import { validateGate } from './gates/validate.ts';
import { readExecuted, secretsOf } from './take-over.ts';

/**
 * Takes up the edited arguments. They were approved as they are: if they would have to be mended first, what runs would
 * not be what was approved.
 */
export async function adoptEdit(hand: CallInHand): Promise<Stop | undefined> {
  const { call } = hand;
  if (call === undefined || call.inputDigest === undefined) return undefined;
  if (hand.adopted === call.inputDigest) return undefined;
  const executed = await readExecuted(hand.engine, call);
  if (!executed.ok)
    return {
      type: 'deny',
      reason: 'expired',
      code: 'confirmation.expired',
      details: `The edited arguments cannot be used: ${executed.problem}.`,
    };
  hand.request = { ...hand.request, input: executed };
  const kept = call.effectiveInput ?? call.requestedInput;
  const stop = await validateGate.check(hand);
  if (stop !== undefined) return stop;
  if (hand.input.changes.length > 0)
    return {
      type: 'deny',
      reason: 'validation',
      code: 'tool.invalid_input',
      details: 'The edited arguments do not fit the schema as they are.',
    };
  hand.prepared = {
    ...hand.input,
    effective: {
      kept,
      hidden: call.hidden,
      digest: call.inputDigest,
      secrets: secretsOf(hand.engine, call, executed),
    },
  };
  hand.adopted = call.inputDigest;
  hand.note('A person changed the arguments before the call ran.');
  return undefined;
}
