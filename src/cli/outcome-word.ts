/** The short words for how calls end, and the colours that go with them. */
import type { ToolOutcome } from '../call/outcome.ts';
import { isOutcomeType } from '../call/outcome.ts';
import type { CallSummary } from '../ledger/call-query.ts';
import type { Style } from './terminal.ts';

type OutcomeType = ToolOutcome['type'];

export const outcomeWords: { readonly [Type in OutcomeType]: string } = {
  ToolExecutionResult: 'result',
  ToolArtifactReference: 'artifact',
  ToolTimeout: 'timeout',
  ToolFailure: 'failure',
  ToolDenied: 'denied',
};

const typesByWord = new Map<string, OutcomeType>(
  (Object.keys(outcomeWords) as OutcomeType[]).map((type) => [outcomeWords[type], type]),
);

/** What `--outcome` takes: the short words, and the names of the types. */
export const outcomeChoices: readonly string[] = [...typesByWord.keys(), ...typesByWord.values()];

export const toOutcomeType = (word: string): OutcomeType | undefined =>
  isOutcomeType(word) ? word : typesByWord.get(word);

/** How a call stands, in one word: how it ended, or what it is waiting for. */
export const standing = ({ outcome, status }: Pick<CallSummary, 'outcome' | 'status'>): string =>
  outcome === undefined ? status : (outcomeWords[outcome] ?? outcome);

const colours: Readonly<Record<string, Style>> = {
  result: 'green',
  artifact: 'cyan',
  timeout: 'yellow',
  failure: 'red',
  denied: 'magenta',
};

/** The colour of a standing; blue for what is not settled. */
export const colourOf = (word: string): Style => colours[word] ?? 'blue';
