import type { ReactNode } from 'react';
import type { CallSummary } from 'quittance/internal/ledger/call-query';
import type { OutcomeWord } from 'quittance/internal/view/outcome-words';
import { outcomeWord, outcomeWords } from 'quittance/internal/view/outcome-words';

type Shown = Pick<CallSummary, 'outcome' | 'status' | 'code' | 'unresolved'>;
export type Tone = 'good' | 'bad' | 'attention' | 'unsure' | 'active' | 'quiet';

/** Label and tone of a call's state, the same on every page. */
export function describeOutcome({ outcome, status, code }: Shown): {
  readonly word: string;
  readonly tone: Tone;
} {
  if (outcome === undefined) return { word: status, tone: statusTones[status] };
  const word = outcomeWord({ type: outcome, code });
  return { word: outcomeWords[word].label, tone: outcomeTones[word] };
}

const outcomeTones: { readonly [Word in OutcomeWord]: Tone } = {
  succeeded: 'good',
  failed: 'bad',
  timed_out: 'bad',
  denied: 'quiet',
  indeterminate: 'unsure',
};

const statusTones: { readonly [Status in CallSummary['status']]: Tone } = {
  requested: 'active',
  held: 'attention',
  approved: 'active',
  running: 'active',
  settled: 'quiet',
};

export function OutcomeBadge({ call }: { readonly call: Shown }): ReactNode {
  const { word, tone } = describeOutcome(call);
  return (
    <span className="badge" data-tone={tone}>
      <span className="dot" aria-hidden="true" />
      {word}
    </span>
  );
}
