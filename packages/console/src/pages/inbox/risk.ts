/** Words for the risk of a question, and the order of the inbox. */
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import type { RiskLevel } from 'quittance/internal/view/risk-level';
import { riskLevel } from 'quittance/internal/view/risk-level';
import type { Tone } from '../../ui/outcome-badge.tsx';

export const riskWords: {
  readonly [Level in RiskLevel]: { readonly word: string; readonly tone: Tone };
} = {
  high: { word: 'High risk', tone: 'bad' },
  medium: { word: 'Medium risk', tone: 'attention' },
  low: { word: 'Low risk', tone: 'quiet' },
};

export type InboxOrder = 'risk' | 'age';

type Ranked = Pick<ConfirmationView, 'risk' | 'createdAt' | 'confirmationId'>;

const rank: { readonly [Level in RiskLevel]: number } = { high: 0, medium: 1, low: 2 };

/** Highest risk first, then longest wait. By age: longest wait first. */
export function orderQuestions<Question extends Ranked>(
  questions: readonly Question[],
  order: InboxOrder,
): readonly Question[] {
  return questions.toSorted(
    (one, other) =>
      (order === 'age' ? 0 : rank[riskLevel(one.risk)] - rank[riskLevel(other.risk)]) ||
      one.createdAt - other.createdAt ||
      // A fixed order for ties: rows that swap places cause wrong clicks.
      (one.confirmationId < other.confirmationId ? -1 : 1),
  );
}
