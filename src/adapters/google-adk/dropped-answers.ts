/**
 * Restores answers that the kit drops. If one call of a message is held, the kit keeps its confirmation and drops the
 * answers of the other calls, which ran. A model that does not see an effect may request it again. When the run
 * continues, these answers are therefore added to the session, from the record.
 */
import { ownValue } from '../../tool/own-value.ts';
import { readList, callsIn } from '../google-genai/calls.ts';
import type { AdkToolContext } from './tool.ts';

/** The answer to a call that ended and was never held; undefined for any other call. */
type AnswerOf = (id: string) => Promise<Record<string, unknown> | undefined>;

/** Adds the missing answers of the parallel calls to the session. */
export async function restoreDroppedAnswers(context: AdkToolContext, answerOf: AnswerOf): Promise<void> {
  const { session, sessionService } = context.invocationContext;
  const { events } = session;
  const at = events.findLastIndex((event) => isMessageOf(event, context.functionCallId));
  const event = events[at];
  if (event === undefined || sessionService === undefined) return;
  const answered = new Set(events.slice(at).flatMap((later) => responsesIn(later).map((one) => one['id'])));
  const parts: object[] = [];
  for (const call of callsIn(ownValue(event, 'content'))) {
    const [id, name] = [ownValue(call, 'id'), ownValue(call, 'name')];
    if (typeof id !== 'string' || id === context.functionCallId || answered.has(id)) continue;
    const response = await answerOf(id);
    if (response !== undefined) parts.push({ functionResponse: { id, name, response } });
  }
  if (parts.length === 0) return;
  const missing = {
    session,
    event: {
      id: `${String(ownValue(event, 'id'))}.beside`,
      invocationId: context.invocationContext.invocationId,
      author: ownValue(event, 'author'),
      branch: ownValue(event, 'branch'),
      timestamp: ownValue(event, 'timestamp'),
      content: { role: 'user', parts },
      actions: {
        stateDelta: {},
        artifactDelta: {},
        requestedAuthConfigs: {},
        requestedToolConfirmations: {},
      },
      longRunningToolIds: [],
    },
  };
  await sessionService.appendEvent(missing as never); // an event of the kit, with its own fields
}

/** Is it a model message that contains this call? A user's message never is, whatever its content. */
export const isMessageOf = (event: object, id: string | undefined): boolean =>
  ownValue(event, 'partial') !== true &&
  ownValue(event, 'author') !== 'user' &&
  callsIn(ownValue(event, 'content')).some((call) => ownValue(call, 'id') === id);

const responsesIn = (event: object): readonly Record<string, unknown>[] =>
  readList(ownValue(event, 'content'), 'parts').flatMap((part) => {
    const response =
      typeof part === 'object' && part !== null ? ownValue(part, 'functionResponse') : undefined;
    return typeof response === 'object' && response !== null ? [response as Record<string, unknown>] : [];
  });
