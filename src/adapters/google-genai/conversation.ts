/**
 * The call ids of a Gemini conversation. Most Gemini models give a call no id. Such a call is named by its place:
 * `refund.3` is the third call of `refund` without an id in this conversation. Every process with the conversation
 * derives the same ids, so that a repeat is recognized and a new call is distinguished.
 */
import { sessionCallId } from '../../call/session-call-id.ts';
import type { GenAiFoundCall } from './calls.ts';
import { callsIn, readList } from './calls.ts';
import { ownValue } from '../../tool/own-value.ts';

type NamedCall = { readonly id: string | undefined; readonly name: string };

export class GenAiConversation {
  /** Number of messages with each id of the provider. */
  readonly #uses = new Map<string, number>();
  /** Number of calls of each tool without an id. */
  readonly #unnamed = new Map<string, number>();
  readonly #ids = new Map<string | object, string>();
  readonly #answered = new Set<string | object>();

  /** `contents` may end with the message that is answered next, and with some of its answers. */
  constructor(contents: readonly unknown[]) {
    let open: { readonly calls: NamedCall[]; answers: number } | undefined;
    for (const content of contents) {
      const calls = callsIn(content).map(toNamed);
      const answers = readList(content, 'parts').filter(isResponse).length;
      const isModel =
        typeof content === 'object' && content !== null && ownValue(content, 'role') === 'model';
      if (isModel && open?.answers === 0) open.calls.push(...calls); // the next chunk of a streamed message
      else if (answers > 0 && open !== undefined) open.answers += answers;
      else {
        if (open !== undefined) this.#count(open.calls);
        open = calls.length > 0 ? { calls, answers: 0 } : undefined;
      }
    }
    if (open !== undefined && open.answers >= open.calls.length) this.#count(open.calls);
  }

  /** The ids of the calls of one message, in order. An unanswered message keeps its place. */
  place(calls: readonly GenAiFoundCall[]): readonly string[] {
    const before = new Map(this.#unnamed);
    return calls.map((call) => {
      const known = this.#ids.get(call.source);
      const id = known ?? idOf(call, before, this.#uses);
      this.#ids.set(call.source, id);
      return id;
    });
  }

  /** The message has its answers; the next one is new. */
  answered(calls: readonly GenAiFoundCall[]): void {
    this.#count(calls.filter(({ source }) => !this.#answered.has(source)));
    for (const { source } of calls) this.#answered.add(source);
  }

  #count(calls: readonly NamedCall[]): void {
    const ids = new Set(calls.flatMap(({ id }) => id ?? []));
    for (const id of ids) this.#uses.set(id, (this.#uses.get(id) ?? 0) + 1);
    for (const { id, name } of calls) if (id === undefined) countOne(this.#unnamed, name);
  }
}

const idOf = (
  { id, name }: NamedCall,
  before: Map<string, number>,
  uses: ReadonlyMap<string, number>,
): string => (id === undefined ? `${name}.${countOne(before, name)}` : sessionCallId(id, uses.get(id) ?? 0));

function countOne(counts: Map<string, number>, name: string): number {
  const count = (counts.get(name) ?? 0) + 1;
  counts.set(name, count);
  return count;
}

function toNamed(call: object): NamedCall {
  const id = ownValue(call, 'id');
  const isGiven = typeof id === 'string' && id !== '';
  return { id: isGiven ? id : undefined, name: String(ownValue(call, 'name')) };
}

const isResponse = (part: unknown): boolean =>
  typeof part === 'object' && part !== null && ownValue(part, 'functionResponse') !== undefined;
