/** The snapshot of a call's preview: what the body must be given, exactly as the tool made it. */
import type { JsonObject } from '../../base/json.ts';
import { freezeJson } from '../../base/json.ts';
import type { PreviewedOperation } from '../../tool/preview.ts';
import type { Call } from '../../call/call.ts';
import type { CallInHand } from './call-in-hand.ts';
import type { Engine } from './engine.ts';
import { collectHidden } from '../input/hidden-values.ts';
import { openSealed } from './seal-input.ts';
import type { Snapshot } from '../input/snapshot.ts';

/** The preview that is about the input as it is now, whether or not it has gone stale. */
export function currentSnapshot(hand: CallInHand): Snapshot | undefined {
  const { snapshot, call, prepared } = hand;
  return snapshot !== undefined &&
    snapshot.inputDigest === prepared?.effective.digest &&
    snapshot.revision === call?.preview?.revision &&
    snapshot.operationId === call.preview.operationId
    ? snapshot
    : undefined;
}

/** Whether what the preview shows may be wrong by now. */
export const isStale = ({ call, engine }: CallInHand): boolean =>
  call?.preview?.expiresAt !== undefined && engine.ledger.now() >= call.preview.expiresAt;

/**
 * Takes up the snapshot that is on record, unsealed where something of it is hidden. False where it cannot be had: the
 * body is never run with a masked one.
 */
export async function recallSnapshot(hand: CallInHand): Promise<boolean> {
  const { call, engine, prepared } = hand;
  const preview = call?.preview;
  if (call === undefined || preview === undefined || !preview.ready) return true;
  if (preview.inputDigest !== prepared?.effective.digest || currentSnapshot(hand) !== undefined) return true;
  const exact = await exactSnapshot(engine, call);
  if (exact === undefined) return false;
  hand.snapshot = {
    operationId: preview.operationId,
    revision: preview.revision,
    snapshot: freezeJson(exact),
    inputDigest: preview.inputDigest,
    hiddenValues: preview.hidden.length === 0 ? [] : collectHidden(exact, preview.snapshot),
  };
  return true;
}

/** As the tool made it, by the record. Undefined where it is hidden and cannot be had. */
export async function exactSnapshot(engine: Engine, call: Call): Promise<JsonObject | undefined> {
  const { preview } = call;
  if (preview === undefined || preview.hidden.length === 0) return preview?.snapshot;
  const opened = await openSealed(engine, call);
  return opened.ok && opened.revision === preview.revision ? opened.snapshot : undefined;
}

/** What the body is given of the preview; only where a person agreed to it, if `approved`. */
export function operationFor(hand: CallInHand, approved: boolean): PreviewedOperation | undefined {
  const snapshot = currentSnapshot(hand);
  if (snapshot === undefined) return undefined;
  const confirmation = hand.call?.confirmation;
  const agreed = confirmation?.status === 'approved' && confirmation.revision === snapshot.revision;
  if (approved && !agreed) return undefined;
  return Object.freeze({
    operationId: snapshot.operationId,
    revision: snapshot.revision,
    snapshot: snapshot.snapshot,
  });
}
