/** What the messages of a run say about its calls. They may come from a client, so nothing here is believed further. */
import { isJsonObject } from '../base/json.ts';

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
  readonly approved: boolean;
  readonly reason: string | undefined;
};

/** The answers of people in a conversation, with the calls they are about. The first about each call counts. */
export function approvalResponses(messages: unknown): readonly ApprovalResponse[] {
  const calls = new Map<unknown, string>();
  const responses = new Map<string, ApprovalResponse>();
  for (const part of partsOf(messages)) {
    const { type, approvalId, toolCallId, approved, reason } = part;
    if (type === 'tool-approval-request' && typeof toolCallId === 'string') calls.set(approvalId, toolCallId);
    const about = type === 'tool-approval-response' ? calls.get(approvalId) : undefined;
    if (about === undefined || responses.has(about)) continue;
    responses.set(about, {
      toolCallId: about,
      approved: approved === true,
      reason: typeof reason === 'string' ? reason : undefined,
    });
  }
  return [...responses.values()];
}
