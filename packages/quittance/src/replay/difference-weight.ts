/** How much a difference between two calls matters to a reader. */
import type { CallDifference } from './diff-sessions.ts';

/** `end`: another end or decision, or a call that only one session made. `output`: another result. */
export type DifferenceWeight = 'end' | 'output' | 'other';

/** Heaviest first. */
export const differenceWeights: readonly DifferenceWeight[] = ['end', 'output', 'other'];

const weightOfField: ReadonlyMap<string, DifferenceWeight> = new Map([
  ['outcome', 'end'],
  ['audit', 'end'],
  ['decisions', 'end'],
  ['questions', 'end'],
  ['code', 'end'],
  ['reason', 'end'],
  ['output', 'output'],
  ['error', 'output'],
  ['details', 'output'],
  ['summary', 'output'],
  ['content', 'output'],
  ['files', 'output'],
]);

export const weightOfDifference = ({
  field,
  path,
}: {
  readonly field: string;
  readonly path: string;
}): DifferenceWeight =>
  // Rules classify the effect of a call. The class decides nothing by itself.
  path.endsWith('.side_effect') ? 'other' : (weightOfField.get(field) ?? 'other');

/** The weight of the heaviest difference. Undefined for calls that are the same. */
export function weightOfCall(call: CallDifference): DifferenceWeight | undefined {
  switch (call.status) {
    case 'same':
      return undefined;
    case 'only_a':
    case 'only_b':
      return 'end';
    case 'changed': {
      const found = new Set(call.differences.map(weightOfDifference));
      return differenceWeights.find((weight) => found.has(weight));
    }
  }
}
