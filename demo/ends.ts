import type { DenialReason, PendingCall, ReasonCode, ToolOutcome } from 'quittance';

/** How a call should end, in one line: the outcome, the reason of a denial, the code. */
export type Ends =
  | 'result'
  | 'artifact'
  | 'timeout tool.timeout'
  | `failure ${ReasonCode}`
  | `denied ${DenialReason} ${ReasonCode}`
  | 'pending';

/** What a turn answers: an outcome, or word that the call still waits for a person. */
export type Answer = ToolOutcome | PendingCall;

/** The short words of the demo for the five outcomes. */
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

/** How a call did end, in the same words. */
export const toEnds = (answer: Answer): string =>
  [toWord(answer), answer.type === 'ToolDenied' ? answer.reason : '', toCode(answer)]
    .filter(Boolean)
    .join(' ');
