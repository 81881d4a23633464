/** How much harm an answer could do, and the order in which questions should be looked at. */
import type { ConfirmationView } from '../../../../src/runtime/host/confirmation-view.ts';
import type { Tone } from '../../ui/outcome-badge.tsx';

export type RiskLevel = 'high' | 'medium' | 'low';

/** The words of the runtime that mean harm which cannot be made good, or that nobody knows. */
const grave: ReadonlySet<string> = new Set([
  'destructive',
  'irreversible',
  'hidden because the same value stands under a secret name',
  'may have happened already',
  'unknown kind of tool',
]);

/** Any word at all is a risk somebody saw; none of ours says "safe". */
export const riskLevel = (risk: readonly string[]): RiskLevel =>
  risk.some((word) => grave.has(word.replace(/: .*$/s, ''))) ? 'high' : risk.length > 0 ? 'medium' : 'low';

export const riskWords: {
  readonly [Level in RiskLevel]: { readonly word: string; readonly tone: Tone };
} = {
  high: { word: 'High risk', tone: 'bad' },
  medium: { word: 'Some risk', tone: 'attention' },
  low: { word: 'Low risk', tone: 'quiet' },
};

export type InboxOrder = 'risk' | 'age';

type Ranked = Pick<ConfirmationView, 'risk' | 'createdAt' | 'confirmationId'>;

const rank: { readonly [Level in RiskLevel]: number } = { high: 0, medium: 1, low: 2 };

/** Gravest first, and of those alike whoever waits longest. By age: whoever waits longest. */
export function orderQuestions<Question extends Ranked>(
  questions: readonly Question[],
  order: InboxOrder,
): readonly Question[] {
  return questions.toSorted(
    (one, other) =>
      (order === 'age' ? 0 : rank[riskLevel(one.risk)] - rank[riskLevel(other.risk)]) ||
      one.createdAt - other.createdAt ||
      // Never left to chance: rows that change places under the pointer are clicked by mistake.
      (one.confirmationId < other.confirmationId ? -1 : 1),
  );
}
