import type { JsonValue } from '../base/json.ts';
import type { ConfirmationAnswer, OnConfirm } from '../runtime/host/confirm.ts';
import { withoutArtifactNames } from './artifact-names.ts';
import type { RecordedAnswer, RecordedCall } from './cassette.ts';
import { recordingKey } from './recording-shelf.ts';
import type { MovableClock } from './replay-time.ts';

/**
 * Answers questions as the people did who were asked when it was recorded: by tool and input, in the order of the
 * answers. Where nobody answered in time, the time passes on the clock, if it can be moved; where the question was
 * withdrawn, nobody answers. What nobody was asked then gets a no, which says so.
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
    return answer === undefined ? nobody : toAnswer(answer, clock);
  };
}

function toAnswer(
  answer: RecordedAnswer,
  clock: MovableClock | undefined,
): ConfirmationAnswer | Promise<never> {
  switch (answer.decision) {
    case 'approve':
    case 'deny': {
      const { decision, by, reason } = answer;
      // A no that names nobody is what the runtime makes of a decider that broke.
      return { decision, by: by as string, ...(reason !== undefined && { reason }) };
    }
    case 'edit': {
      const { decision, by, reason, arguments: edited } = answer;
      return { decision, by, arguments: edited, ...(reason !== undefined && { reason }) };
    }
    case 'respond': {
      const { decision, by, reason, response } = answer;
      return { decision, by, response, ...(reason !== undefined && { reason }) };
    }
    case 'expired':
      // Once everything that runs beside it has begun.
      setImmediate(() => clock?.advance(answer.afterMs));
      return new Promise<never>(() => {});
    case 'withdrawn':
      return new Promise<never>(() => {});
  }
}

const nobody: ConfirmationAnswer = {
  decision: 'deny',
  by: 'the cassette',
  reason: 'nobody was asked this when it was recorded',
};
