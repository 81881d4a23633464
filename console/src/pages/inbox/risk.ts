/** Risk level of a question, and the order of the inbox. */
import type { ConfirmationView } from '../../../../src/runtime/host/confirmation-view.ts';
import type { Tone } from '../../ui/outcome-badge.tsx';

export type RiskLevel = 'high' | 'medium' | 'low';

/** Risks named by the runtime that mean irreversible or unknown harm. */
const grave: ReadonlySet<string> = new Set([
  'destructive',
  'irreversible',
  'hidden because the same value has a secret name elsewhere',
  'may have happened already',
  'unknown kind of tool',
]);

/** Every risk word raises the level: none of them means "safe". */
export const riskLevel = (risk: readonly string[]): RiskLevel =>
  risk.some((word) => grave.has(word.replace(/: .*$/s, ''))) ? 'high' : risk.length > 0 ? 'medium' : 'low';

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
