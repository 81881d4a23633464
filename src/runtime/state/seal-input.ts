/**
 * Where the kept form hides something, the executed form is sealed beside it until the call is settled, or until it
 * cannot be undone any more, so that it can still be run, or taken back, with what was really asked.
 */
import { isKeyedDigest } from '../../base/canonical.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject, readJsonText } from '../../base/json.ts';
import { isSameJson } from '../../base/same-json.ts';
import type { Call } from '../../call/call.ts';
import type { ReadyCall } from './call-stages.ts';
import type { Engine } from './engine.ts';
import type { PreparedInput } from '../input/prepared-input.ts';

/** Seals what is hidden and not sealed yet: the input and, where something of it is hidden, the snapshot. */
export function sealInput(live: ReadyCall): { readonly sealed?: string } {
  const { effective, effectiveInput, form, accepted } = live.input;
  const {
    journal: { call },
    preview: { snapshot },
  } = live;
  const withSnapshot = call?.preview !== undefined && call.preview.hidden.length > 0;
  if (effective.hidden.length === 0 && !withSnapshot) return {};
  const what = sealedName(effective.digest, withSnapshot ? call.preview?.revision : undefined);
  if (live.journal.sealedAs === what) return {};
  live.journal.sealing = what;
  const context = sealContext(live.sessionId, live.callId);
  const payload = toPayload(
    { form, effectiveInput, accepted },
    withSnapshot ? { revision: call.preview?.revision ?? 0, snapshot: snapshot?.snapshot ?? {} } : undefined,
  );
  return { sealed: live.engine.seal.seal(JSON.stringify(payload), context) };
}

/** What is sealed of an input: the input alone, or a list with what else is needed to run it. */
export function toPayload(
  { form, effectiveInput, accepted }: Pick<PreparedInput, 'form' | 'effectiveInput' | 'accepted'>,
  shown: { readonly revision: number; readonly snapshot: JsonObject } | undefined,
): JsonValue {
  // An edit is written from the accepted arguments: a mask in it stands for what they held.
  if (form === 'typed' || !isSameJson(accepted, effectiveInput))
    return [effectiveInput, shown?.revision ?? null, shown?.snapshot ?? null, accepted];
  return shown === undefined ? effectiveInput : [effectiveInput, shown.revision, shown.snapshot];
}

const sealedName = (inputDigest: string, revision: number | undefined): string =>
  `${inputDigest}/${revision ?? ''}`;

/** What is sealed of a call, by its record; undefined where nothing had to be. */
export function sealedNameOf({ inputDigest, preview }: Call): string | undefined {
  const withSnapshot = preview !== undefined && preview.hidden.length > 0;
  if (inputDigest === undefined || (!isKeyedDigest(inputDigest) && !withSnapshot)) return undefined;
  return sealedName(inputDigest, withSnapshot ? preview.revision : undefined);
}

/** What a seal belongs to: one moved to another call does not open. */
export const sealContext = (sessionId: string, callId: string): string => JSON.stringify([sessionId, callId]);

export type Opened =
  | {
      readonly ok: true;
      readonly input: JsonObject;
      /** The arguments the schema accepted, where the input is only a rendering of what it made of them. */
      readonly accepted: JsonObject | undefined;
      readonly revision: number | undefined;
      readonly snapshot: JsonObject | undefined;
    }
  | { readonly ok: false; readonly problem: string };

/** What was sealed of a call. */
export async function openSealed(engine: Engine, { sessionId, callId }: Call): Promise<Opened> {
  const refuse = (problem: string): Opened => ({ ok: false, problem });
  const sealed = await engine.ledger.journal.readSealed(sessionId, callId);
  if (sealed === undefined) return refuse('what was hidden of the input is not kept any more');
  try {
    return readSealedText(engine.seal.open(sealed, sealContext(sessionId, callId)));
  } catch {
    return refuse(
      'what was hidden of the input cannot be opened with this key: it was sealed with another one, or for another call, or was changed since',
    );
  }
}

/** An input is an object; with a snapshot, or of a value JSON cannot hold, it is the first of a list. */
export function readSealedText(text: string): Opened {
  const payload = readJsonText(text);
  const [input, revision, snapshot, accepted] = Array.isArray(payload) ? payload : [payload];
  if (!isJsonObject(input)) return { ok: false, problem: 'what was sealed is no object' };
  return {
    ok: true,
    input,
    accepted: isJsonObject(accepted) ? accepted : undefined,
    revision: typeof revision === 'number' ? revision : undefined,
    snapshot: isJsonObject(snapshot) ? snapshot : undefined,
  };
}
