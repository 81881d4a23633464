/** The snapshot of a call's preview: what the body must be given, exactly as the tool made it. */
import type { JsonObject } from '../../base/json.ts';
import { freezeJson } from '../../base/json.ts';
import type { PreviewedOperation } from '../../tool/preview.ts';
import type { Call } from '../../call/call.ts';
import type { AcceptedCall } from './accepted-call.ts';
import type { ReadyCall } from './call-stages.ts';
import type { Engine } from './engine.ts';
import { collectHidden } from '../input/collect-hidden.ts';
import { openSealed } from './seal-input.ts';
import type { Snapshot } from '../input/snapshot.ts';

type PreviewedCall = Pick<ReadyCall, 'engine' | 'journal' | 'preview' | 'secrets' | 'input'>;

/** The preview that is about the input as it is now, whether or not it has gone stale. */
export function currentSnapshot({
  preview: { snapshot },
  journal: { call },
  input,
}: PreviewedCall): Snapshot | undefined {
  return snapshot !== undefined &&
    snapshot.inputDigest === input.effective.digest &&
    snapshot.revision === call?.preview?.revision &&
    snapshot.operationId === call.preview.operationId
    ? snapshot
    : undefined;
}

/** Whether what the preview shows may be wrong by now. */
export const isStale = ({ journal: { call }, engine }: Pick<AcceptedCall, 'journal' | 'engine'>): boolean =>
  call?.preview?.expiresAt !== undefined && engine.ledger.now() >= call.preview.expiresAt;

/**
 * Takes up the snapshot that is on record, unsealed where something of it is hidden. False where it cannot be had: the
 * body is never run with a masked one.
 */
export async function recallSnapshot(live: PreviewedCall): Promise<boolean> {
  const {
    journal: { call },
    engine,
    input,
  } = live;
  const preview = call?.preview;
  if (call === undefined || preview === undefined || !preview.ready) return true;
  if (preview.inputDigest !== input.effective.digest || currentSnapshot(live) !== undefined) return true;
  const exact = await exactSnapshot(engine, call);
  if (exact === undefined) return false;
  useSnapshot(live, {
    operationId: preview.operationId,
    revision: preview.revision,
    snapshot: freezeJson(exact),
    inputDigest: preview.inputDigest,
    hiddenValues: preview.hidden.length === 0 ? [] : collectHidden(exact, preview.snapshot),
  });
  return true;
}

/** Keeps the exact snapshot for the body, and hides its secrets from now on. */
export function useSnapshot({ preview, secrets }: PreviewedCall, snapshot: Snapshot): void {
  preview.snapshot = snapshot;
  secrets.ofSnapshot = snapshot.hiddenValues;
}

/** As the tool made it, by the record. Undefined where it is hidden and cannot be had. */
export async function exactSnapshot(engine: Engine, call: Call): Promise<JsonObject | undefined> {
  const { preview } = call;
  if (preview === undefined || preview.hidden.length === 0) return preview?.snapshot;
  const opened = await openSealed(engine, call);
  return opened.ok && opened.revision === preview.revision ? opened.snapshot : undefined;
}

/** What the body is given of the preview; only where a person agreed to it, if `approved`. */
export function operationFor(live: PreviewedCall, approved: boolean): PreviewedOperation | undefined {
  const snapshot = currentSnapshot(live);
  if (snapshot === undefined) return undefined;
  const confirmation = live.journal.call?.confirmation;
  const agreed = confirmation?.status === 'approved' && confirmation.revision === snapshot.revision;
  if (approved && !agreed) return undefined;
  return Object.freeze({
    operationId: snapshot.operationId,
    revision: snapshot.revision,
    snapshot: snapshot.snapshot,
  });
}
