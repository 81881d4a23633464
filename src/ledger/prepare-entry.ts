/** What a store needs of an entry before it appends it: its text, and the effects that it leaves or resolves. */
import type { EmittedEvent } from '../call/emitted-event.ts';
import type { QuittanceEvent } from '../call/event.ts';
import type { DraftEntry } from './formats/v1/write-entry.ts';
import { draftEntry } from './formats/v1/write-entry.ts';
import type { Entry } from './journal.ts';
import { refuseEntry } from './refuse-entry.ts';
import { clearsUnsettledEffect, lastInputDigest, leavesUnsettledEffect } from './unsettled-effect.ts';

/** A call whose effect became unresolved, or was resolved. */
export type EffectNote =
  | {
      readonly type: 'unresolved';
      readonly callId: string;
      readonly toolName: string;
      /** Undefined if an earlier entry states it. */
      readonly inputDigest: string | undefined;
    }
  | { readonly type: 'resolved'; readonly callId: string };

export type PreparedEntry = {
  readonly draft: DraftEntry;
  readonly effects: readonly EffectNote[] | undefined;
};

/** Throws if only the ledger may append the entry, or if reading it back would change it. */
export function prepareEntry(entry: Entry, ownerId: string, salt: () => string): PreparedEntry {
  refuseEntry(entry);
  const effects = entry.callId === undefined ? undefined : effectsOf(entry.events);
  return { draft: draftEntry(entry, ownerId, salt), effects };
}

function effectsOf(events: readonly (QuittanceEvent | EmittedEvent)[]): readonly EffectNote[] | undefined {
  let notes: EffectNote[] | undefined;
  for (const each of events) {
    const event = each as QuittanceEvent; // an event of a behavior has another type, or the entry is refused
    if (leavesUnsettledEffect(event)) {
      const { callId, outcome } = event;
      const inputDigest = lastInputDigest(events, callId);
      (notes ??= []).push({ type: 'unresolved', callId, toolName: outcome.toolName, inputDigest });
    } else if (clearsUnsettledEffect(event)) (notes ??= []).push({ type: 'resolved', callId: event.callId });
  }
  return notes;
}
