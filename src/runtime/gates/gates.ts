/**
 * The order of the gates, in one place. Recall comes before them (a call already known is answered, not judged
 * again); the person, the claim and the intent come after.
 */
import { blockedGate } from './blocked.ts';
import { deadlineGate } from './deadline.ts';
import { duplicateGate } from './duplicate.ts';
import type { EntryGate, Gate } from '../state/gate.ts';
import { keyGate } from './key.ts';
import { limitsGate } from './limits.ts';
import { ownFilesGate } from './own-files.ts';
import { policyGate } from './policy.ts';
import { previewGate, snapshotGate } from './preview.ts';
import { resolveGate } from './resolve.ts';
import { undoGate } from './undo.ts';

/** Before the input is validated. */
export const entryGates: readonly EntryGate[] = [resolveGate, deadlineGate, blockedGate];

/** After the input was validated. */
export const gates: readonly Gate[] = [
  undoGate,
  duplicateGate,
  policyGate,
  ownFilesGate,
  keyGate,
  limitsGate,
  previewGate,
];

/** The names of all gates of a new call, in order. The validation of the input stands between the two lists. */
export const gateNames: readonly string[] = [
  ...entryGates.map(({ name }) => name),
  'validate',
  ...gates.map(({ name }) => name),
];

/** After a person agreed: an approval skips no check. What they agreed to is in hand; no schema sees it again. */
export const gatesAfterApproval: readonly Gate[] = [
  undoGate,
  snapshotGate,
  policyGate,
  ownFilesGate,
  limitsGate,
  previewGate,
];

/** The same where a person put other arguments in the place of those that were looked at before. */
export const gatesForOtherInput: readonly Gate[] = [
  undoGate,
  duplicateGate,
  snapshotGate,
  policyGate,
  ownFilesGate,
  keyGate,
  limitsGate,
  previewGate,
];
