/**
 * If the stored form hides a value, the executed form is sealed and stored too. It stays until the call is
 * settled, or until it can no longer be undone, so that it can run or be undone with the exact input.
 */
import { isKeyedDigest } from '../../base/canonical.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject, readJsonText } from '../../base/json.ts';
import { isSameJson } from '../../base/same-json.ts';
import type { Call } from '../../call/call.ts';
import type { ReadyCall } from './call-stages.ts';
import type { Engine } from './engine.ts';
import type { PreparedInput } from '../input/prepared-input.ts';

/** Seals what is hidden and not sealed yet: the input and, if part of it is hidden, the snapshot. */
export function sealInput(live: ReadyCall): string | undefined {
  const { effective, effectiveInput, form, accepted } = live.input;
  const {
    journal: { call },
    preview: { snapshot },
  } = live;
  const withSnapshot = call?.preview !== undefined && call.preview.hidden.length > 0;
  if (effective.hidden.length === 0 && !withSnapshot) return undefined;
  const what = sealedName(effective.digest, withSnapshot ? call.preview?.revision : undefined);
  if (live.journal.sealedAs === what) return undefined;
  live.journal.sealing = what;
  const context = sealContext(live.sessionId, live.callId);
  const payload = toPayload(
    { form, effectiveInput, accepted },
    withSnapshot ? { revision: call.preview?.revision ?? 0, snapshot: snapshot?.snapshot ?? {} } : undefined,
  );
  return live.engine.seal.seal(JSON.stringify(payload), context);
}

/** The sealed payload: the input alone, or a list with the other parts needed to run it. */
export function toPayload(
  { form, effectiveInput, accepted }: Pick<PreparedInput, 'form' | 'effectiveInput' | 'accepted'>,
  shown: { readonly revision: number; readonly snapshot: JsonObject } | undefined,
): JsonValue {
  // An edit starts from the accepted arguments: a mask in it stands for one of their values.
  if (form === 'typed' || !isSameJson(accepted, effectiveInput))
    return [effectiveInput, shown?.revision ?? null, shown?.snapshot ?? null, accepted];
  return shown === undefined ? effectiveInput : [effectiveInput, shown.revision, shown.snapshot];
}

const sealedName = (inputDigest: string, revision: number | undefined): string =>
  `${inputDigest}/${revision ?? ''}`;

/** The name of a call's sealed payload, from its record. Undefined if nothing was sealed. */
export function sealedNameOf({ inputDigest, preview }: Call): string | undefined {
  const withSnapshot = preview !== undefined && preview.hidden.length > 0;
  if (inputDigest === undefined || (!isKeyedDigest(inputDigest) && !withSnapshot)) return undefined;
  return sealedName(inputDigest, withSnapshot ? preview.revision : undefined);
}

/** Binds a seal to its call: it does not open for another one. */
export const sealContext = (sessionId: string, callId: string): string => JSON.stringify([sessionId, callId]);

export type Opened =
  | {
      readonly ok: true;
      readonly input: JsonObject;
      /** The arguments that the schema accepted, if the input is only a rendering of its result. */
      readonly accepted: JsonObject | undefined;
      readonly revision: number | undefined;
      readonly snapshot: JsonObject | undefined;
    }
  | { readonly ok: false; readonly problem: string };

/** The unsealed payload of a call. */
export async function openSealed(engine: Engine, { sessionId, callId }: Call): Promise<Opened> {
  const refuse = (problem: string): Opened => ({ ok: false, problem });
  const sealed = await engine.ledger.journal.readSealed(sessionId, callId);
  if (sealed === undefined) return refuse('the hidden part of the input is no longer stored');
  try {
    return readSealedText(engine.seal.open(sealed, sealContext(sessionId, callId)));
  } catch {
    return refuse(
      'the hidden part of the input cannot be unsealed with this key: it was sealed with another key, for another call, or was changed since',
    );
  }
}

/**
 * An input alone is an object. With a snapshot, or with a value that JSON cannot hold, it is the first
 * element of a list.
 */
export function readSealedText(text: string): Opened {
  const payload = readJsonText(text);
  const [input, revision, snapshot, accepted] = Array.isArray(payload) ? payload : [payload];
  if (!isJsonObject(input)) return { ok: false, problem: 'the sealed value is not an object' };
  return {
    ok: true,
    input,
    accepted: isJsonObject(accepted) ? accepted : undefined,
    revision: typeof revision === 'number' ? revision : undefined,
    snapshot: isJsonObject(snapshot) ? snapshot : undefined,
  };
}
