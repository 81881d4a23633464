import type { ToolOutcome } from '../../call/outcome.ts';
import type { BodyEnd } from '../attempt/attempt.ts';
import { appendLate } from '../attempt/late.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';

/** For a slow owner whose call another process has ended: stores the result of its body as late. */
export function keepAsLate(live: AcceptedCall, outcome: ToolOutcome, attempt: number): void {
  const end = bodyEndOf(outcome);
  if (end !== undefined) appendLate(live, end, elapsedOf(outcome), attempt);
}

export const elapsedOf = (outcome: ToolOutcome): number => ('elapsedMs' in outcome ? outcome.elapsedMs : 0);

/** The result of a body, derived from its outcome. */
export function bodyEndOf(outcome: ToolOutcome): BodyEnd | undefined {
  switch (outcome.type) {
    case 'ToolExecutionResult':
      return { type: 'returned', value: outcome.output };
    case 'ToolArtifactReference':
      return { type: 'returned', value: { artifactId: outcome.artifactId, summary: outcome.summary } };
    case 'ToolFailure':
      return { type: 'threw', error: new Error(outcome.error) };
    case 'ToolTimeout':
    case 'ToolDenied':
      return undefined;
  }
}
