/** Facts that are stored after the outcome and never change it: a resolution, an undo, a late write. */
import type { JsonValue } from '../../base/json.ts';
import type { PersistenceBoundary } from '../persistence-boundary.ts';
import type { CallEventOf } from './event-of.ts';
import type { DecidedBy } from './gate-event.ts';

/** The resolution of an unresolved call. The outcome stays. */
export type ToolResolved = CallEventOf<
  'tool.resolved',
  {
    resolution: Resolution;
    /** The person by name, or the tool's own `reconcile`. */
    by: DecidedBy;
    reason: string | undefined;
    /** The result of the effect, if known. Stored form. */
    result: JsonValue | undefined;
  }
>;

/** The effect happened; it did not; or a person declares that a rerun does no harm. */
export type Resolution = 'succeeded' | 'failed' | 'safe_to_retry';

/** Another call has undone this call. */
export type ToolUndone = CallEventOf<
  'tool.undone',
  { undoCallId: string; by: DecidedBy; reason: string | undefined }
>;

/** A write failed earlier and is recorded here. */
export type PersistenceFailed = CallEventOf<
  'persistence.failed',
  {
    boundary: PersistenceBoundary;
    error: string;
    /** Temporary place of the value. */
    keptIn: 'spill' | 'record' | 'nowhere';
    /** The value that could not be stored, in its stored form, if no other event of the call has it. */
    result: JsonValue | undefined;
  }
>;
