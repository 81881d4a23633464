/** What the messages of a run say about its calls. They may come from a client, so nothing here is believed further. */
import { isJsonObject } from '../base/json.ts';
import { sessionCallId } from '../call/session-call-id.ts';
import type { Said } from './conversation.ts';
import { earlierUses } from './conversation.ts';

type Part = { readonly [key: string]: unknown };

function* partsOf(message: unknown): Generator<Part> {
  const content = isJsonObject(message) ? message['content'] : undefined;
  if (!Array.isArray(content)) return;
  for (const part of content as readonly unknown[]) if (isJsonObject(part)) yield part;
}

const listOf = (messages: unknown): readonly unknown[] => (Array.isArray(messages) ? messages : []);

/** The steps of one message: its calls first, then the answers in it. */
function* stepsOf(message: unknown): Generator<Said> {
  const ids: string[] = [];
  const answers: string[] = [];
  for (const { type, toolCallId: id } of partsOf(message)) {
    if (typeof id !== 'string') continue;
    if (type === 'tool-call') ids.push(id);
    if (type === 'tool-result') answers.push(id);
  }
  const role = isJsonObject(message) ? message['role'] : undefined;
  if (ids.length > 0) yield { type: 'calls', ids };
  else if (role === 'user' || role === 'assistant') yield { type: 'other' };
  for (const id of answers) yield { type: 'answer', id };
}

/** The conversation, as far as the ids of its calls go. */
export const readMessages = (messages: unknown): readonly Said[] =>
  listOf(messages).flatMap((message) => [...stepsOf(message)]);

/** How many assistant messages before the one of the current call hold this id. */
export const timesUsed = (messages: unknown, toolCallId: string): number =>
  earlierUses(readMessages(messages), toolCallId);

export type ApprovalResponse = {
  readonly toolCallId: string;
  /** The call it is about, in its session. */
  readonly callId: string;
  readonly approved: boolean;
  readonly reason: string | undefined;
};

/**
 * The answers of people in a conversation, with the calls they are about. The first about each call counts. An id may
 * be used again: then an answer is about the call that had no result yet where the answer stands.
 */
export function approvalResponses(messages: unknown): readonly ApprovalResponse[] {
  const asked = new Map<unknown, string>();
  const responses = new Map<string, ApprovalResponse>();
  const before: Said[] = [];
  for (const message of listOf(messages)) {
    before.push(...[...stepsOf(message)].filter(({ type }) => type !== 'answer'));
    for (const { type, approvalId, toolCallId, approved, reason } of partsOf(message)) {
      if (type === 'tool-result' && typeof toolCallId === 'string')
        before.push({ type: 'answer', id: toolCallId });
      if (type === 'tool-approval-request' && typeof toolCallId === 'string')
        asked.set(approvalId, toolCallId);
      const about = type === 'tool-approval-response' ? asked.get(approvalId) : undefined;
      if (about === undefined) continue;
      const callId = sessionCallId(about, earlierUses(before, about));
      if (responses.has(callId)) continue;
      responses.set(callId, {
        toolCallId: about,
        callId,
        approved: approved === true,
        reason: typeof reason === 'string' ? reason : undefined,
      });
    }
  }
  return [...responses.values()];
}
