/** The call ids in the conversation file of the Claude Agent SDK's program. */
import { readFile } from 'node:fs/promises';
import { isJsonObject, parseJson } from '../../base/json.ts';
import type { ConversationStep } from '../run/conversation.ts';
import { earlierUses } from '../run/conversation.ts';

/**
 * Which use of its id a call is, in one connection. The program does not name the message of a call, and makes the
 * calls of one message one after the other. A call whose id was already answered is therefore a later use only if the
 * transcript says so. Otherwise it counts as the same message, so that nothing runs twice.
 */
export class TranscriptCalls {
  readonly #answered = new Map<string, number>();
  #before: Promise<readonly ConversationStep[]> | undefined;

  async earlier(id: string, path: string | undefined): Promise<number> {
    const before = await (this.#before ??= readTranscript(path));
    const answered = this.#answered.get(id) ?? 0;
    if (answered === 0 || path === undefined) return earlierUses(before, id);
    const due = answersTo(before, id) + answered;
    // The program writes with some delay. This waits only if an id is reused.
    for (let look = 0; look < mostLooks; look++) {
      const now = await readTranscript(path);
      if (answersTo(now, id) >= due) return earlierUses(now, id);
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
    return earlierUses(before, id);
  }

  answered(id: string): void {
    this.#answered.set(id, (this.#answered.get(id) ?? 0) + 1);
  }
}

const mostLooks = 250;
const lookEveryMs = 20;

const answersTo = (conversation: readonly ConversationStep[], id: string): number =>
  conversation.filter((said) => said.type === 'answer' && said.id === id).length;

/** Empty if there is no such file. */
async function readTranscript(path: string | undefined): Promise<readonly ConversationStep[]> {
  if (path === undefined || path === '') return [];
  try {
    return readLines((await readFile(path, 'utf8')).split('\n'));
  } catch {
    return [];
  }
}

/**
 * The program writes each block of a message on its own line, under the id of the message; results may be between
 * them.
 */
function readLines(lines: readonly string[]): readonly ConversationStep[] {
  const conversation: ConversationStep[] = [];
  let message: { readonly id: unknown; readonly ids: string[] } | undefined;
  for (const line of lines) {
    const parsed = line.trim() === '' ? undefined : parseJson(line);
    const entry = parsed?.ok === true && isJsonObject(parsed.value) ? parsed.value : undefined;
    const said = entry !== undefined && isJsonObject(entry['message']) ? entry['message'] : undefined;
    if (said === undefined || entry?.['isSidechain'] === true) continue;
    const blocks = (Array.isArray(said['content']) ? said['content'] : []).filter(isJsonObject);
    if (said['role'] === 'assistant') {
      const ids = blocks.flatMap(({ type, id }) =>
        type === 'tool_use' && typeof id === 'string' ? [id] : [],
      );
      if (ids.length === 0) continue;
      if (message === undefined || message.id !== said['id']) {
        message = { id: said['id'], ids: [] };
        conversation.push({ type: 'calls', ids: message.ids });
      }
      message.ids.push(...ids);
      continue;
    }
    const answers = blocks.flatMap(({ type, tool_use_id: id }) =>
      type === 'tool_result' && typeof id === 'string' ? [id] : [],
    );
    if (answers.length === 0) {
      message = undefined;
      conversation.push({ type: 'other' });
    }
    for (const id of answers) conversation.push({ type: 'answer', id });
  }
  return conversation;
}
