import type { JsonValue } from '../base/json.ts';
import { given } from '../call/fields.ts';
import type { ConfirmationAnswer, OnConfirm } from '../runtime/views.ts';
import { withoutArtifactNames } from './artifact-names.ts';
import type { RecordedAnswer, RecordedCall } from './cassette.ts';
import { recordingKey } from './recording-shelf.ts';
import type { MovableClock } from './replay-time.ts';

/**
 * Decides confirmations as people did in the recording: by tool and input, in order. A recorded expiry passes on the
 * clock, if it can be moved; a withdrawn confirmation stays undecided. A confirmation that was not recorded is
 * denied, with that reason.
 */
export function answerAsRecorded(
  calls: readonly RecordedCall[],
  keep: (toolName: string, input: JsonValue) => JsonValue,
  clock: MovableClock | undefined,
): OnConfirm {
  const waiting = new Map<string, RecordedAnswer[]>();
  const keyFor = (toolName: string, input: JsonValue): string =>
    recordingKey({ toolName, input: withoutArtifactNames(keep(toolName, input)) });
  for (const { toolName, requestedInput, answers } of calls)
    for (const answer of answers) {
      const key = keyFor(toolName, answer.input ?? requestedInput);
      const known = waiting.get(key);
      if (known === undefined) waiting.set(key, [answer]);
      else known.push(answer);
    }
  return (request) => {
    const answer = waiting.get(keyFor(request.toolName, request.accepted))?.shift();
    return answer === undefined ? noPerson : toAnswer(answer, clock);
  };
}

function toAnswer(
  answer: RecordedAnswer,
  clock: MovableClock | undefined,
): ConfirmationAnswer | Promise<never> {
  const { identity } = answer;
  switch (answer.decision) {
    case 'approve':
    case 'deny': {
      const { decision, by, reason } = answer;
      // A denial without a name comes from a decider that failed.
      return { decision, by: by as string, ...given({ reason, identity }) };
    }
    case 'edit': {
      const { decision, by, reason, arguments: edited } = answer;
      return { decision, by, arguments: edited, ...given({ reason, identity }) };
    }
    case 'respond': {
      const { decision, by, reason, response } = answer;
      return { decision, by, response, ...given({ reason, identity }) };
    }
    case 'expired':
      // After all parallel calls have started.
      setImmediate(() => clock?.advance(answer.afterMs));
      return new Promise<never>(() => {});
    case 'withdrawn':
      return new Promise<never>(() => {});
  }
}

const noPerson: ConfirmationAnswer = {
  decision: 'deny',
  by: 'the cassette',
  reason: 'this confirmation was not recorded',
};
