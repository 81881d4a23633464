/**
 * Where the kept form hides something, the executed form is sealed beside it until the call is settled, or until it
 * cannot be undone any more, so that it can still be run, or taken back, with what was really asked.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject, readJsonText } from '../base/json.ts';
import type { Call } from '../call/call.ts';
import type { CallInHand } from './call-in-hand.ts';
import type { Engine } from './engine.ts';

/** Seals what is hidden and not sealed yet: the input and, where something of it is hidden, the snapshot. */
export function sealInput(hand: CallInHand): { readonly sealed?: string } {
  const { effective, effectiveInput } = hand.input;
  const { call, snapshot } = hand;
  const withSnapshot = call?.preview !== undefined && call.preview.hidden.length > 0;
  if (effective.hidden.length === 0 && !withSnapshot) return {};
  const what = sealedName(effective.digest, withSnapshot ? call.preview?.revision : undefined);
  if (hand.sealedAs === what) return {};
  hand.sealing = what;
  const context = sealContext(hand.turn.sessionId, hand.request.id);
  const payload: JsonValue = withSnapshot
    ? [effectiveInput, call.preview?.revision ?? 0, snapshot?.snapshot ?? {}]
    : effectiveInput;
  return { sealed: hand.engine.seal.seal(JSON.stringify(payload), context) };
}

const sealedName = (inputDigest: string, revision: number | undefined): string =>
  `${inputDigest}/${revision ?? ''}`;

/** What is sealed of a call, by its record; undefined where nothing had to be. */
export function sealedNameOf({ hidden, inputDigest, preview }: Call): string | undefined {
  const withSnapshot = preview !== undefined && preview.hidden.length > 0;
  if (inputDigest === undefined || (hidden.length === 0 && !withSnapshot)) return undefined;
  return sealedName(inputDigest, withSnapshot ? preview.revision : undefined);
}

/** What a seal belongs to: one moved to another call does not open. */
export const sealContext = (sessionId: string, callId: string): string => JSON.stringify([sessionId, callId]);

export type Opened =
  | {
      readonly ok: true;
      readonly input: JsonObject;
      readonly revision: number | undefined;
      readonly snapshot: JsonObject | undefined;
    }
  | { readonly ok: false; readonly problem: string };

/** What was sealed of a call. */
export async function openSealed(engine: Engine, { sessionId, callId }: Call): Promise<Opened> {
  const refuse = (problem: string): Opened => ({ ok: false, problem });
  const sealed = await engine.ledger.readSealed(sessionId, callId);
  if (sealed === undefined) return refuse('what was hidden of the input is not kept any more');
  try {
    return readSealedText(engine.seal.open(sealed, sealContext(sessionId, callId)));
  } catch {
    return refuse('what was hidden of the input cannot be opened with this key');
  }
}

/** An input is an object; with a snapshot it is the first of three. */
export function readSealedText(text: string): Opened {
  const payload = readJsonText(text);
  const [input, revision, snapshot] = Array.isArray(payload) ? payload : [payload];
  if (!isJsonObject(input)) return { ok: false, problem: 'what was sealed is no object' };
  return {
    ok: true,
    input,
    revision: typeof revision === 'number' ? revision : undefined,
    snapshot: isJsonObject(snapshot) ? snapshot : undefined,
  };
}
