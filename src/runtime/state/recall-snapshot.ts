/** The snapshot of a call's preview: the exact value for the body, as the tool made it. */
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

/** The preview for the current input, whether or not it has expired. */
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

/** Has the preview expired? */
export const isStale = ({ journal: { call }, engine }: Pick<AcceptedCall, 'journal' | 'engine'>): boolean =>
  call?.preview?.expiresAt !== undefined && engine.ledger.now() >= call.preview.expiresAt;

/**
 * Reads the recorded snapshot, unsealed if part of it is hidden. Returns false if it is unavailable: the body
 * never runs with a masked one.
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

/** Sets the exact snapshot for the body, and hides its secrets from now on. */
export function useSnapshot({ preview, secrets }: PreviewedCall, snapshot: Snapshot): void {
  preview.snapshot = snapshot;
  secrets.ofSnapshot = snapshot.hiddenValues;
}

/** The snapshot as the tool made it, from the record. Undefined if it is hidden and unavailable. */
export async function exactSnapshot(engine: Engine, call: Call): Promise<JsonObject | undefined> {
  const { preview } = call;
  if (preview === undefined || preview.hidden.length === 0) return preview?.snapshot;
  const opened = await openSealed(engine, call);
  return opened.ok && opened.revision === preview.revision ? opened.snapshot : undefined;
}

/** The previewed operation for the body. If `approved`, only one that a person approved. */
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
