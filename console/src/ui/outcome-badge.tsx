import type { ReactNode } from 'react';
import type { CallSummary } from '../../../src/ledger/call-query.ts';

type Shown = Pick<CallSummary, 'outcome' | 'status' | 'code' | 'unresolved'>;
export type Tone = 'good' | 'bad' | 'attention' | 'unsure' | 'active' | 'quiet';

/** How a call stands, in a word and a tone. One place, so that it is the same word on every page. */
export function describeOutcome({ outcome, status, code }: Shown): {
  readonly word: string;
  readonly tone: Tone;
} {
  if (code === 'tool.indeterminate') return { word: 'indeterminate', tone: 'unsure' };
  switch (outcome) {
    case 'ToolExecutionResult':
      return { word: 'succeeded', tone: 'good' };
    case 'ToolArtifactReference':
      return { word: 'succeeded', tone: 'good' };
    case 'ToolTimeout':
      return { word: 'timed out', tone: 'bad' };
    case 'ToolFailure':
      return { word: 'failed', tone: 'bad' };
    case 'ToolDenied':
      return { word: 'denied', tone: 'quiet' };
    case undefined:
      switch (status) {
        case 'held':
          return { word: 'held', tone: 'attention' };
        case 'approved':
          return { word: 'approved', tone: 'active' };
        case 'running':
          return { word: 'running', tone: 'active' };
        case 'requested':
          return { word: 'requested', tone: 'active' };
        case 'settled':
          return { word: 'settled', tone: 'quiet' };
      }
  }
}

export function OutcomeBadge({ call }: { readonly call: Shown }): ReactNode {
  const { word, tone } = describeOutcome(call);
  return (
    <span className="badge" data-tone={tone}>
      <span className="dot" aria-hidden="true" />
      {word}
    </span>
  );
}
