import type { JsonValue } from '../base/json.ts';
import type { ConfirmationAnswer, OnConfirm } from '../runtime/confirm.ts';
import type { RecordedAnswer, RecordedCall } from './cassette.ts';
import { keyOf } from './recording-shelf.ts';

/**
 * Answers questions as the people did who were asked when it was recorded: by tool and input, in the order of the
 * answers. What nobody was asked then gets a no, which says so.
 */
export function answerAsRecorded(
  calls: readonly RecordedCall[],
  known: (call: RecordedCall) => JsonValue,
  keep: (toolName: string, input: JsonValue) => JsonValue,
): OnConfirm {
  const waiting = new Map<string, RecordedAnswer[]>();
  for (const call of calls) {
    const key = keyOf({ toolName: call.toolName, input: known(call) });
    waiting.set(key, [...(waiting.get(key) ?? []), ...call.answers]);
  }
  return (request) => {
    const input = keep(request.toolName, request.arguments);
    const answer = waiting.get(keyOf({ toolName: request.toolName, input }))?.shift();
    return answer === undefined ? nobody : toAnswer(answer);
  };
}

const toAnswer = ({ decision, by, reason }: RecordedAnswer): ConfirmationAnswer => ({
  decision,
  by,
  ...(reason !== undefined && { reason }),
});

const nobody: ConfirmationAnswer = {
  decision: 'deny',
  by: 'the cassette',
  reason: 'nobody was asked this when it was recorded',
};
