/**
 * How a call ended, in the one word that people read: in the console, the CLI, the React components and the docs. The
 * exact types keep their names (`ToolExecutionResult`, …); `docs/glossary.md` relates both.
 */
import type { ToolOutcome } from '../call/outcome.ts';
import { isOutcomeType } from '../call/outcome.ts';

/** The key is what `--outcome` and the field names of counts use, the label is what people read. */
export type OutcomeWord = 'succeeded' | 'failed' | 'timed_out' | 'denied' | 'indeterminate';

export const outcomeWords: {
  readonly [Word in OutcomeWord]: { readonly label: string; readonly types: readonly ToolOutcome['type'][] };
} = Object.freeze({
  succeeded: { label: 'succeeded', types: ['ToolExecutionResult', 'ToolArtifactReference'] },
  failed: { label: 'failed', types: ['ToolFailure'] },
  timed_out: { label: 'timed out', types: ['ToolTimeout'] },
  denied: { label: 'denied', types: ['ToolDenied'] },
  indeterminate: { label: 'indeterminate', types: ['ToolFailure'] },
});

export const isOutcomeWord = (word: string): word is OutcomeWord => Object.hasOwn(outcomeWords, word);

/** An outcome, or what lists and counts hold of one. */
type Ended = { readonly type: ToolOutcome['type']; readonly code?: string | undefined };

export function outcomeWord({ type, code }: Ended): OutcomeWord {
  switch (type) {
    case 'ToolExecutionResult':
    case 'ToolArtifactReference':
      return 'succeeded';
    case 'ToolFailure':
      return code === 'tool.indeterminate' ? 'indeterminate' : 'failed';
    case 'ToolTimeout':
      return 'timed_out';
    case 'ToolDenied':
      return 'denied';
  }
}

/** A type that a newer version wrote is its own label. */
export const outcomeLabel = (ended: Ended): string =>
  isOutcomeType(ended.type) ? outcomeWords[outcomeWord(ended)].label : ended.type;

/** The same at the beginning of a sentence or in a badge: "Timed out". */
export const outcomeTitle = (word: OutcomeWord): string =>
  outcomeWords[word].label.replace(/^./, (letter) => letter.toUpperCase());

/** For lists that tell the two kinds of success apart. */
export const outcomeTypeLabels: { readonly [Type in ToolOutcome['type']]: string } = Object.freeze({
  ToolExecutionResult: outcomeWords.succeeded.label,
  ToolArtifactReference: `${outcomeWords.succeeded.label} (large output)`,
  ToolTimeout: outcomeWords.timed_out.label,
  ToolFailure: outcomeWords.failed.label,
  ToolDenied: outcomeWords.denied.label,
});
