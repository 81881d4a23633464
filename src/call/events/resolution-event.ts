/** What is kept beside the outcome of a call, and never changes it: what was found out, taken back, or written too late. */
import type { JsonValue } from '../../base/json.ts';
import type { PersistenceBoundary } from '../persistence-boundary.ts';
import type { CallEventOf } from './event-of.ts';
import type { DecidedBy } from './gate-event.ts';

/** What was found out later about a call whose end was not known. Beside the outcome, never instead of it. */
export type ToolResolved = CallEventOf<
  'tool.resolved',
  {
    resolution: Resolution;
    /** Who found out: a person by name, or the tool's own `reconcile`. */
    by: DecidedBy;
    reason: string | undefined;
    /** What the effect gave, where that is known. Kept form. */
    result: JsonValue | undefined;
  }
>;

/** It happened; it did not; or a person says that running it again does no harm. */
export type Resolution = 'succeeded' | 'failed' | 'safe_to_retry';

/** What the call did was taken back by another call. */
export type ToolUndone = CallEventOf<
  'tool.undone',
  { undoCallId: string; by: DecidedBy; reason: string | undefined }
>;

/** Something could not be written when it should have been, and is made good here. */
export type PersistenceFailed = CallEventOf<
  'persistence.failed',
  {
    boundary: PersistenceBoundary;
    error: string;
    /** Where what could not be written was kept meanwhile. */
    keptIn: 'spill' | 'record' | 'nowhere';
    /** What could not be stored, in its kept form, where no other event of the call has it. */
    result: JsonValue | undefined;
  }
>;
