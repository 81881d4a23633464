/**
 * The order of the gates, in one place. Recall comes before them: a known call is answered from its record.
 * The approval, the claim and the intent come after them.
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

/** Gates before the input is validated. */
export const entryGates: readonly EntryGate[] = [resolveGate, deadlineGate, blockedGate];

/** Gates after the input is validated. */
export const gates: readonly Gate[] = [
  undoGate,
  duplicateGate,
  policyGate,
  ownFilesGate,
  keyGate,
  limitsGate,
  previewGate,
];

/** The names of all gates of a new call, in order. Validation of the input comes between the two lists. */
export const gateNames: readonly string[] = [
  ...entryGates.map(({ name }) => name),
  'validate',
  ...gates.map(({ name }) => name),
];

/**
 * Gates after an approval, which skips no check. The approved input is used as it is: the schema does not
 * check it again.
 */
export const gatesAfterApproval: readonly Gate[] = [
  undoGate,
  snapshotGate,
  policyGate,
  ownFilesGate,
  limitsGate,
  previewGate,
];

/** Gates after an approval with edited arguments. */
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
