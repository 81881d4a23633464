/** The status of a call as one word with a color, and the words that `--outcome` accepts. */
import { isOutcomeType, outcomeTypes } from 'quittance/internal/call/outcome';
import type { CallQuery, CallSummary } from 'quittance/internal/ledger/call-query';
import type { OutcomeWord } from 'quittance/internal/view/outcome-words';
import { isOutcomeWord, outcomeLabel, outcomeWords } from 'quittance/internal/view/outcome-words';
import type { Style } from './terminal.ts';

/** What `--outcome` takes: the words of the product, and the exact types. */
export const outcomeChoices: readonly string[] = [...Object.keys(outcomeWords), ...Object.keys(outcomeTypes)];

/** The calls that a word of `--outcome` stands for. `failed` includes the indeterminate ones: they are failures too. */
export function outcomeQuery(word: string | undefined): Pick<CallQuery, 'outcome' | 'code'> {
  if (word === undefined) return {};
  if (word === 'indeterminate') return { outcome: 'ToolFailure', code: 'tool.indeterminate' };
  if (isOutcomeWord(word)) return { outcome: outcomeWords[word].types };
  return { outcome: isOutcomeType(word) ? word : undefined };
}

type Standing = Pick<CallSummary, 'outcome' | 'status' | 'code'>;

/** The state of a call in one word: its outcome, or its status while it has none. */
export const standing = ({ outcome, status, code }: Standing): string =>
  outcome === undefined ? status : outcomeLabel({ type: outcome, code });

const colors: { readonly [Word in OutcomeWord]: Style } = {
  succeeded: 'green',
  timed_out: 'yellow',
  failed: 'red',
  indeterminate: 'yellow',
  denied: 'magenta',
};

const colorByLabel = new Map<string, Style>(
  Object.entries(outcomeWords).map(([word, { label }]) => [label, colors[word as OutcomeWord]]),
);

/** The color of a status. Blue for an open call. */
export const colorOf = (word: string): Style => colorByLabel.get(word) ?? 'blue';
