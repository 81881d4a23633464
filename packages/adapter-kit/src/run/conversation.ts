/** The call ids in a conversation of any format. */
import { sessionCallId } from 'quittance/internal/call/session-call-id';
import type { ToolCallInput } from 'quittance/internal/runtime/call-options';

/** One step of a conversation. */
export type ConversationStep =
  /** An assistant message that calls tools: their provider ids. */
  | { readonly type: 'calls'; readonly ids: readonly string[] }
  /** The answer to a call. */
  | { readonly type: 'answer'; readonly id: string }
  /** Any other message. Calls without an answer by then never get one. */
  | { readonly type: 'other' };

/**
 * Number of assistant messages before the current call's that contain its provider id. The conversation may end
 * before that message, or with it and some of its answers.
 */
export function earlierUses(conversation: Iterable<ConversationStep>, id: string): number {
  let uses = 0;
  let unanswered = 0;
  for (const said of conversation) {
    if (said.type === 'other') unanswered = 0;
    else if (said.type === 'calls') {
      unanswered = said.ids.filter((one) => one === id).length;
      if (unanswered > 0) uses++;
    } else if (said.id === id) {
      // The message of the call was cut from the conversation.
      if (unanswered === 0) uses++;
      else unanswered--;
    }
  }
  return unanswered > 0 ? uses - 1 : uses;
}

/** Counts the answers of a run, for frameworks that do not show a tool the messages of its own run. */
export class AnsweredCalls {
  readonly #counts = new Map<string, number>();

  /** Replaces the counts by those of the conversation. */
  read(conversation: readonly ConversationStep[]): void {
    this.#counts.clear();
    for (const said of conversation)
      for (const id of said.type === 'calls' ? said.ids : said.type === 'answer' ? [said.id] : [])
        this.#counts.set(id, earlierUses(conversation, id));
  }

  copy(): AnsweredCalls {
    const copied = new AnsweredCalls();
    for (const [id, count] of this.#counts) copied.#counts.set(id, count);
    return copied;
  }

  earlier(id: string): number {
    return this.#counts.get(id) ?? 0;
  }

  /** An answer was given to a call after `earlier` uses of its id. */
  answered(id: string, earlier: number): void {
    this.#counts.set(id, Math.max(this.earlier(id), earlier + 1));
  }
}

/** The call under its id in the session. */
export const withSessionCallId = (request: ToolCallInput, earlier: number): ToolCallInput => ({
  ...request,
  id: sessionCallId(request.id, earlier),
});

/** The number of earlier uses in an id of ours; undefined if it was not made from this provider id. */
export function earlierIn(callId: string, id: string): number | undefined {
  if (callId === id) return 0;
  const [, count] = /^~(\d{1,9})$/.exec(callId.startsWith(id) ? callId.slice(id.length) : '') ?? [];
  return count === undefined ? undefined : Number(count) - 1;
}
