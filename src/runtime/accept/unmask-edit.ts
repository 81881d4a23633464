/**
 * A person who edits arguments sees their stored form, with masks for hidden values. A mask left in its place
 * stands for the hidden value. No mask ever reaches a body.
 */
import { QuittanceError } from '../../base/error.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject } from '../../base/json.ts';
import { redacted } from '../../base/text-mask.ts';
import type { Call } from '../../call/call.ts';
import { acceptedInputOf } from '../../call/call.ts';
import { hidesInput } from '../../call/hides-input.ts';
import { ownValue } from '../../tool/own-value.ts';
import type { Engine } from '../state/engine.ts';
import type { RecordedInput } from '../input/input-digest.ts';
import { readRecorded } from '../state/read-recorded.ts';

/** The edited arguments with hidden values restored. Throws if a mask would remain. */
export async function unmaskEdit(engine: Engine, call: Call, edited: JsonObject): Promise<JsonObject> {
  if (!hidesInput(call) || !holdsMask(edited)) return edited;
  const executed = await readRecorded(engine, call);
  const restored = executed.ok ? restore(edited, call, executed) : edited;
  if (isJsonObject(restored) && !holdsMask(restored)) return restored;
  throw new QuittanceError(
    'confirmation.mismatch',
    `The edited arguments hold "${redacted}" where a value should be${executed.ok ? '' : `, and ${executed.problem}`}. Give the value itself, or leave the member in its place.`,
    { callId: call.callId },
  );
}

/**
 * An edit starts from the arguments that the schema accepted, and passes the schema again. Masks of those
 * arguments are therefore restored first, then masks of the effective input, which may have other members.
 */
function restore(edited: JsonObject, call: Call, { effectiveInput, accepted }: RecordedInput): JsonValue {
  const restored = putBack(edited, acceptedInputOf(call), accepted);
  return holdsMask(restored)
    ? putBack(restored, call.effectiveInput ?? call.requestedInput, effectiveInput)
    : restored;
}

const holdsMask = (value: JsonValue): boolean => JSON.stringify(value).includes(redacted);

/** Walks the three values together: they have the same shape wherever nothing was edited. */
function putBack(edited: JsonValue, kept: JsonValue | undefined, executed: JsonValue | undefined): JsonValue {
  if (kept === undefined || executed === undefined) return edited;
  if (typeof edited === 'string') return edited === kept ? executed : edited;
  if (Array.isArray(edited))
    return edited.map((item: JsonValue, index) =>
      putBack(item, itemOf(kept, index), itemOf(executed, index)),
    );
  if (!isJsonObject(edited) || !isJsonObject(kept) || !isJsonObject(executed)) return edited;
  return Object.fromEntries(
    Object.entries(edited).map(([key, value]) => [
      key,
      putBack(value, memberOf(kept, key), memberOf(executed, key)),
    ]),
  );
}

const memberOf = (holder: JsonObject, key: string): JsonValue | undefined =>
  ownValue(holder, key) as JsonValue | undefined; // a member of JSON is JSON

const itemOf = (value: JsonValue, index: number): JsonValue | undefined =>
  Array.isArray(value) ? (value as readonly JsonValue[])[index] : undefined;
