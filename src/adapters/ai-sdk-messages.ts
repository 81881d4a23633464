/** What the messages of a run say about its calls. They may come from a client, so nothing here is believed further. */
import { isJsonObject } from '../base/json.ts';
import { sessionCallId } from './session-call-id.ts';

type Part = { readonly [key: string]: unknown };

function* partsOf(messages: unknown): Generator<Part> {
  if (!Array.isArray(messages)) return;
  for (const message of messages as readonly unknown[]) {
    const content = isJsonObject(message) ? message['content'] : undefined;
    if (!Array.isArray(content)) continue;
    for (const part of content as readonly unknown[]) if (isJsonObject(part)) yield part;
  }
}

/** How many calls of this id have been answered. */
export function timesAnswered(messages: unknown, toolCallId: string): number {
  let count = 0;
  for (const part of partsOf(messages))
    if (part['type'] === 'tool-result' && part['toolCallId'] === toolCallId) count++;
  return count;
}

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
  const answered = new Map<unknown, number>();
  const responses = new Map<string, ApprovalResponse>();
  for (const { type, approvalId, toolCallId, approved, reason } of partsOf(messages)) {
    if (type === 'tool-result') answered.set(toolCallId, (answered.get(toolCallId) ?? 0) + 1);
    if (type === 'tool-approval-request' && typeof toolCallId === 'string') asked.set(approvalId, toolCallId);
    const about = type === 'tool-approval-response' ? asked.get(approvalId) : undefined;
    if (about === undefined) continue;
    const callId = sessionCallId(about, answered.get(about) ?? 0);
    if (responses.has(callId)) continue;
    responses.set(callId, {
      toolCallId: about,
      callId,
      approved: approved === true,
      reason: typeof reason === 'string' ? reason : undefined,
    });
  }
  return [...responses.values()];
}
