/**
 * A value that JSON cannot hold is handed to every function of a tool as it is. Before the body gets it, it is compared
 * with what is on record.
 */
import { isSameJson } from '../../base/same-json.ts';
import { renderTyped } from '../../base/typed-rendering.ts';
import { acceptInput } from './accept-input.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import type { Stop } from '../state/gate.ts';
import { isInputDigest } from '../input/input-digest.ts';
import { keepInput } from '../input/kept-input.ts';
import type { PreparedInput } from '../input/prepared-input.ts';
import { resourceKeysOf } from '../input/resource-keys.ts';

/** Undefined where the call has in hand what its record says. One that was changed meanwhile is made again. */
export async function keepTyped(hand: CallInHand): Promise<Stop | undefined> {
  const { engine, knownTool: tool, sessionId } = hand;
  // The last function of the tool to see the value before its body.
  hand.resourceKeys = resourceKeysOf(tool, () => hand.handOut());
  if (isAsRecorded(hand.input)) return undefined;
  const { accepted, effective, artifacts, changes, acceptedKept } = hand.input;
  const kept = keepInput(accepted, tool.redact?.input, engine.redactor, engine.seal);
  const again = await acceptInput({ engine, tool, sessionId }, { input: accepted, kept }, accepted, false);
  if (again.ok && isInputDigest(effective.digest, again.prepared, engine.seal.digestKey)) {
    hand.prepared = { ...again.prepared, effective, artifacts, changes, acceptedKept };
    return undefined;
  }
  return {
    type: 'deny',
    reason: 'validation',
    code: 'tool.invalid_input',
    details: `The arguments of "${tool.displayName}" were changed while they were checked, and cannot be made again.`,
  };
}

function isAsRecorded({ value, rendering }: PreparedInput): boolean {
  const read = renderTyped(value);
  return read.ok && rendering !== undefined && isSameJson(read.value, rendering);
}
