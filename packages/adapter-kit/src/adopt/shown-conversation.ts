/**
 * The last messages before a call, for the people who approve it. They are recorded with the call as
 * `attrs.conversation`, in the form of every other metadata: redacted, and visible to policy.
 *
 * Only texts of users and the model are taken: results of tools are in the ledger anyway, and a system prompt may be
 * confidential. Messages may come from a client, so nothing here is trusted.
 */
import { QuittanceError } from 'quittance/internal/base/error';
import type { JsonObject } from 'quittance/internal/base/json';

/** `true` for the last 6 messages, or their number, at most 20. */
export type ShowConversation = boolean | { readonly messages: number };

type ShownMessage = { readonly role: 'user' | 'assistant'; readonly text: string };

const messagesByDefault = 6;
const mostMessages = 20;
/** Longer texts are cut: the end of a message is closest to the call, but its beginning says what it is about. */
const mostLength = 1_000;

/** Throws for a value that is not one of the option. Returns the number of messages, 0 for none. */
export function readShowConversation(given: unknown): number {
  if (given === undefined || given === false) return 0;
  if (given === true) return messagesByDefault;
  const count = typeof given === 'object' && given !== null && 'messages' in given ? given.messages : 0;
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= mostMessages)
    return count;
  throw new QuittanceError(
    'config.invalid',
    `showConversation must be true, false or { messages: 1 to ${mostMessages} }.`,
  );
}

/** The last `count` messages with text, oldest first. Undefined without such messages. */
export function toShownConversation(
  messages: readonly unknown[] | undefined,
  count: number,
): JsonObject | undefined {
  const shown: ShownMessage[] = [];
  for (let index = (messages?.length ?? 0) - 1; index >= 0 && shown.length < count; index--) {
    const message = readMessage(messages?.[index]);
    if (message !== undefined) shown.unshift(message);
  }
  return shown.length === 0 ? undefined : { conversation: shown };
}

const roles: ReadonlyMap<unknown, ShownMessage['role']> = new Map([
  ['user', 'user'],
  ['human', 'user'],
  ['assistant', 'assistant'],
  ['ai', 'assistant'],
  ['model', 'assistant'],
] as const);

/** Frameworks differ in names only: a role or type, and content, parts or the content of an event. */
function readMessage(message: unknown): ShownMessage | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  const { role, type, content, parts } = message as Readonly<Record<string, unknown>>;
  const known = roles.get(role) ?? roles.get(type);
  // An event of a session wraps its message.
  if (known === undefined) return isWrapped(content) ? readMessage(content) : undefined;
  const text = textOf(content ?? parts).trim();
  if (text === '') return undefined;
  return { role: known, text: text.length > mostLength ? `${text.slice(0, mostLength)}…` : text };
}

const isWrapped = (content: unknown): boolean =>
  typeof content === 'object' && content !== null && 'parts' in content;

/** The text parts. Calls, results, files and reasoning have other types. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (typeof content === 'object' && content !== null && 'parts' in content) return textOf(content.parts);
  if (!Array.isArray(content)) return '';
  return content
    .flatMap((part: unknown) => {
      if (typeof part === 'string') return [part];
      if (typeof part !== 'object' || part === null || !('text' in part)) return [];
      const isText = !('type' in part) || textTypes.has(part.type);
      const isThought = 'thought' in part && part.thought === true;
      return isText && !isThought && typeof part.text === 'string' ? [part.text] : [];
    })
    .join('\n');
}

const textTypes: ReadonlySet<unknown> = new Set(['text', 'input_text', 'output_text']);
