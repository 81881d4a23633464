/**
 * The recorded input of a call, unsealed if part of it is hidden. It is compared with its digest each time,
 * so that an altered input is never taken for the approved one.
 */
import { isKeyedDigest } from '../../base/canonical.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import { acceptedInputOf } from '../../call/call.ts';
import type { Engine } from './engine.ts';
import type { RecordedInput } from '../input/input-digest.ts';
import { isInputDigest } from '../input/input-digest.ts';
import { openSealed } from './seal-input.ts';

export type ReadRecorded =
  | ({ readonly ok: true } & RecordedInput)
  | {
      readonly ok: false;
      readonly problem: string;
      /** Its stored form, for code that can use it. */
      readonly raw: JsonValue;
      /** Was it changed in the store? */
      readonly altered: boolean;
    };

export async function readRecorded(engine: Engine, call: Call): Promise<ReadRecorded> {
  const { inputForm: form, artifacts } = call;
  const kept = call.effectiveInput ?? call.requestedInput;
  const digest = call.inputDigest ?? call.requestDigest;
  const refuse = (problem: string, altered = false): ReadRecorded => ({
    ok: false,
    problem,
    raw: kept,
    altered,
  });
  const found = isKeyedDigest(digest)
    ? await unseal(engine, call)
    : { input: kept, accepted: acceptedInputOf(call) };
  if ('problem' in found) return refuse(found.problem);
  const { input: effectiveInput, accepted = effectiveInput } = found;
  if (!isJsonObject(effectiveInput) || !isJsonObject(accepted))
    return refuse('the arguments are not an object');
  const recorded = { form, effectiveInput, accepted, artifacts };
  if (!isInputDigest(digest, recorded, engine.seal.digestKey))
    return refuse('its stored input is not the one that was recorded', true);
  return { ok: true, ...recorded };
}

type Unsealed =
  | { readonly input: JsonObject; readonly accepted: JsonObject | undefined }
  | { readonly problem: string };

async function unseal(engine: Engine, call: Call): Promise<Unsealed> {
  const opened = await openSealed(engine, call);
  return opened.ok ? { input: opened.input, accepted: opened.accepted } : { problem: opened.problem };
}
