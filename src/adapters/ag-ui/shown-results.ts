/**
 * The results of calls that a client already shows. CopilotKit shows the answer of a person as the result of the call
 * that waited. A tool of the page with the name of a governed tool adds a result of its own. The recorded result
 * replaces both. If the call has no result yet, they are removed.
 */
import { QuittanceError } from '../../base/error.ts';
import { isJsonObject } from '../../base/json.ts';
import type { Runtime } from '../../runtime/create-runtime.ts';
import { describeValue } from '../../tool/describe-value.ts';
import { ownValue } from '../../tool/own-value.ts';

export type ShownResults = {
  /** Calls whose recorded result the client has. */
  readonly answered: ReadonlySet<string>;
  /** The messages with recorded results only. Undefined if the client's own are right. */
  readonly corrected: readonly unknown[] | undefined;
};

export async function readShownResults(
  runtime: Runtime,
  sessionId: string,
  messages: unknown,
): Promise<ShownResults> {
  if (!Array.isArray(messages))
    throw new QuittanceError(
      'config.invalid',
      `openRun takes \`messages\` of RunAgentInput, a list. Found ${describeValue(messages)}.`,
    );
  const answered = new Set<string>();
  const corrected: unknown[] = [];
  let isRight = true;
  for (const message of messages as readonly unknown[]) {
    const callId = resultOf(message);
    const call = callId === undefined ? undefined : (await runtime.calls.list({ sessionId, callId }))[0];
    if (callId === undefined || call === undefined) {
      corrected.push(message); // not about a call of this session
      continue;
    }
    const recorded = call.settled?.content;
    if (recorded === undefined || answered.has(callId)) {
      isRight = false;
      continue;
    }
    answered.add(callId);
    const isRecorded = isJsonObject(message) && ownValue(message, 'content') === recorded;
    isRight &&= isRecorded;
    corrected.push(isRecorded ? message : { ...(message as object), content: recorded });
  }
  return { answered, corrected: isRight ? undefined : corrected };
}

/** The call that a message is the result of; undefined for any other message. */
function resultOf(message: unknown): string | undefined {
  if (!isJsonObject(message) || ownValue(message, 'role') !== 'tool') return undefined;
  const callId = ownValue(message, 'toolCallId');
  return typeof callId === 'string' ? callId : undefined;
}
