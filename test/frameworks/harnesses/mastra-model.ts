/** A model of the AI SDK that follows a script, as Mastra takes it. */
import { MockLanguageModelV3 } from 'ai6/test';
import type { Round, Script, Told } from '../suite/harness.ts';
import { createPlayer } from '../suite/harness.ts';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** `argumentText` returns the text of arguments, if it should differ from their JSON. */
export function scriptedModel(
  script: Script,
  told: Told[] | ToldParts[],
  argumentText: (args: unknown) => string = (args) => JSON.stringify(args),
): MockLanguageModelV3 {
  const player = createPlayer(script);
  const next = async (prompt: readonly Message[]): Promise<Round> => {
    told.splice(0, told.length, ...prompt.flatMap(readTold));
    return player.next(told);
  };
  const toContent = (round: Round) =>
    'text' in round
      ? [{ type: 'text' as const, text: round.text }]
      : round.calls.map(({ id, name, arguments: args }) => ({
          type: 'tool-call' as const,
          toolCallId: id,
          toolName: name,
          input: argumentText(args),
        }));
  const toEnd = (round: Round) => {
    const unified = 'text' in round ? ('stop' as const) : ('tool-calls' as const);
    return { usage, finishReason: { unified, raw: unified } };
  };
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const round = await next(prompt as readonly Message[]);
      return { content: toContent(round), ...toEnd(round), warnings: [] };
    },
    doStream: async ({ prompt }) => {
      const round = await next(prompt as readonly Message[]);
      const parts = toContent(round).flatMap<object>((part) =>
        part.type === 'text'
          ? [
              { type: 'text-start', id: 't' },
              { type: 'text-delta', id: 't', delta: part.text },
              { type: 'text-end', id: 't' },
            ]
          : [part],
      );
      const all = [{ type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', ...toEnd(round) }];
      const stream = new ReadableStream({
        start: (controller) => {
          for (const part of all) controller.enqueue(part);
          controller.close();
        },
      });
      return { stream: stream as never };
    },
  });
}

type Message = { readonly role: string; readonly content: unknown };
type ToolResult = {
  readonly type: string;
  readonly toolCallId: string;
  readonly output: {
    readonly type: string;
    readonly value?: unknown;
  };
};

/** With all the parts, not only those of text. */
export type ToldParts = Told & { readonly parts: readonly unknown[] };

const readTold = ({ role, content }: Message): readonly ToldParts[] =>
  role !== 'tool'
    ? []
    : (content as readonly ToolResult[]).flatMap(({ type, toolCallId, output }) =>
        type !== 'tool-result'
          ? []
          : {
              callId: toolCallId,
              texts: textsOf(output.value),
              isError: output.type === 'content' ? undefined : output.type.startsWith('error'),
              parts: Array.isArray(output.value) ? (output.value as readonly unknown[]) : [],
            },
      );

const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value)
    ? (value as readonly { readonly text?: string }[]).flatMap(({ text }) => text ?? [])
    : [typeof value === 'string' ? value : JSON.stringify(value)];
