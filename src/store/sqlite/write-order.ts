/**
 * Orders: writes as plain data, so that the main thread can hand them to the writer thread. Everything that depends on
 * events is worked out when the order is made. The writer only needs names, numbers and texts.
 */
import type { ArtifactEncoding } from './artifact-files.ts';
import type { CursorMove } from '../../ledger/cursors.ts';
import type { DraftEntry } from '../../ledger/formats/v1/write-entry.ts';
import type { AppendResult, Entry, Move } from '../../ledger/journal.ts';
import { lastState } from '../../ledger/last-state.ts';
import type { EffectNote } from '../../ledger/prepare-entry.ts';
import { prepareEntry } from '../../ledger/prepare-entry.ts';
import { countMarks } from './marks.ts';

export type WriteOrder = AppendOrder | CursorOrder | ArtifactOrder;

/** Appends an entry. */
export type AppendOrder = {
  readonly type: 'append';
  readonly entryId: string;
  readonly sessionId: string;
  readonly callId: string | undefined;
  readonly expectedVersion: number | 'any';
  readonly draft: DraftEntry;
  /** Undefined for most entries. */
  readonly extras: OrderExtras | undefined;
};

/** The conditions of an append, and what it changes outside the entries. */
export type OrderExtras = Pick<
  Entry,
  'claim' | 'releaseClaim' | 'reserve' | 'settle' | 'sealed' | 'dropSealed' | 'guards' | 'cursor'
> & {
  readonly moves?: readonly StatedMove[] | undefined;
  readonly effects?: readonly EffectNote[] | undefined;
  /** Number of marks that the text of the entry implies. */
  readonly marks: number;
};

/** A move with the new state of its subject, as JSON. */
export type StatedMove = Move & { readonly state: string };

/** Moves a cursor without an append. */
export type CursorOrder = { readonly type: 'cursor'; readonly move: CursorMove };

/** Names an artifact whose content is on disk. */
export type ArtifactOrder = {
  readonly type: 'artifact';
  readonly sessionId: string;
  readonly artifactId: string;
  readonly callId: string;
  readonly mimeType: string;
  readonly encoding: ArtifactEncoding;
  readonly bytes: number;
  readonly hash: string;
};

/** The answer to an order: the result of an append, or whether a cursor was moved or an artifact named. */
export type OrderAnswer = AppendAnswer | { readonly type: 'done'; readonly isDone: boolean };

export type AppendAnswer = {
  readonly type: 'append';
  readonly result: AppendResult;
  /** Where the entry is; undefined if it was refused. */
  readonly stored: StoredPlace | undefined;
};

/** The place of an entry in the file and in the chain of its session. */
export type StoredPlace = { readonly position: number; readonly sequence: number; readonly hash: string };

/** Performs orders inside a transaction. */
export interface OrderPerformer {
  perform(order: WriteOrder): OrderAnswer;
  /** Writes what performed orders have left to write together. Call before other work in the transaction. */
  flush(): void;
  /** After an error of the commit: is the work of this order in the file all the same? */
  isKept(order: WriteOrder, answer: OrderAnswer | undefined): boolean;
}

export const isDone = (answer: OrderAnswer): boolean => answer.type === 'done' && answer.isDone;

/** Throws if the entry is one that the ledger refuses. */
export function createAppendOrder(entry: Entry, ownerId: string, salt: () => string): AppendOrder {
  const { entryId, sessionId, callId, expectedVersion } = entry;
  const { draft, effects } = prepareEntry(entry, ownerId, salt);
  const extras = extrasOf(entry, effects);
  return { type: 'append', entryId, sessionId, callId, expectedVersion, draft, extras };
}

function extrasOf(entry: Entry, effects: OrderExtras['effects']): OrderExtras | undefined {
  const { claim, releaseClaim, reserve, settle, sealed, dropSealed, moves, guards, cursor } = entry;
  const isPlain =
    claim === undefined &&
    releaseClaim === undefined &&
    reserve === undefined &&
    settle === undefined &&
    sealed === undefined &&
    dropSealed === undefined &&
    moves === undefined &&
    guards === undefined &&
    cursor === undefined &&
    effects === undefined;
  if (isPlain) return undefined;
  return {
    claim,
    releaseClaim,
    // JSON has no infinity.
    reserve: reserve?.map((each) => ({ ...each, limit: Math.min(each.limit, Number.MAX_VALUE) })),
    settle,
    sealed,
    dropSealed,
    guards,
    cursor,
    moves: moves?.map(({ subject, expectedVersion }) => ({
      subject,
      expectedVersion,
      state: JSON.stringify(lastState(entry.events, subject)),
    })),
    effects,
    marks: countMarks(entry),
  };
}
