import type { DenialReason, PendingCall, ReasonCode, ToolOutcome } from 'quittance';

/** The expected end of a call in one line: the outcome, the reason of a denial, the code. */
export type Ends =
  | 'result'
  | 'artifact'
  | 'timeout tool.timeout'
  | `failure ${ReasonCode}`
  | `denied ${DenialReason} ${ReasonCode}`
  | 'pending';

/** The answer of a turn: an outcome, or the fact that the call awaits approval. */
export type Answer = ToolOutcome | PendingCall;

/** The demo's short words for the five outcomes. */
export const outcomeWords: Readonly<Record<ToolOutcome['type'], string>> = {
  ToolExecutionResult: 'result',
  ToolArtifactReference: 'artifact',
  ToolTimeout: 'timeout',
  ToolFailure: 'failure',
  ToolDenied: 'denied',
};

export const toWord = (answer: Answer): string =>
  answer.type === 'pending' ? 'pending' : outcomeWords[answer.type];

export const toCode = (answer: Answer): string => ('code' in answer ? answer.code : '');

/** The actual end of a call, in the same words. */
export const toEnds = (answer: Answer): string =>
  [toWord(answer), answer.type === 'ToolDenied' ? answer.reason : '', toCode(answer)]
    .filter(Boolean)
    .join(' ');
