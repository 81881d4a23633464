/** Shared by an agent of LangChain and a graph of LangGraph: their tools, their model, how they run. */
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import type { BaseMessage } from '@langchain/core/messages';
import { AIMessage, AIMessageChunk, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import { tool } from '@langchain/core/tools';
import { Command, MemorySaver } from '@langchain/langgraph';
import type { GovernedTools, LangChainQuestion } from '@quittance/langchain';
import { governTools } from '@quittance/langchain';
import type { Harness, PlainTool, Ran, Round, RunOptions, Script, Told } from '../suite/harness.ts';
import { createPlayer, toJsonSchema } from '../suite/harness.ts';

type LangChainTool = ReturnType<typeof toTool>;

/** The parts of a compiled graph that are used here. */
type Graph = {
  invoke(input: never, config: object): Promise<unknown>;
  stream(input: never, config: object): Promise<AsyncIterable<unknown>>;
};

export type Parts = {
  readonly governed: GovernedTools<readonly LangChainTool[]>;
  readonly model: ScriptedModel;
  readonly checkpointer: MemorySaver;
};

type State = {
  readonly messages: readonly BaseMessage[];
  readonly __interrupt__?: readonly { readonly id: string; readonly value: LangChainQuestion }[];
};

export const langChainHarness = (name: string, module: string, build: (parts: Parts) => Graph): Harness => ({
  name,
  module,
  streams: true,
  suspends: true,
  annotations: 'of a server',
  async start(plain, options) {
    const governed = await governTools(plain.map(toTool), {
      ...options,
      interruptOn: Object.fromEntries(
        plain.map(({ name: toolName, needsApproval = false }) => [toolName, needsApproval]),
      ),
    });
    const go = async (
      input: unknown,
      checkpointer: MemorySaver,
      script: Script,
      { sessionId, signal, stream = false }: RunOptions,
    ): Promise<Ran> => {
      const model = new ScriptedModel(script);
      const graph = build({ governed, model, checkpointer });
      const config = { configurable: { thread_id: sessionId }, ...(signal && { signal }) };
      let state: State | undefined;
      if (stream)
        for await (const values of await graph.stream(input as never, { ...config, streamMode: 'values' }))
          state = values as State;
      else state = (await graph.invoke(input as never, config)) as State;
      const [stopped] = state?.__interrupt__ ?? [];
      if (stopped === undefined) return { text: state?.messages.at(-1)?.text, told: model.told };
      return { text: undefined, told: model.told, suspended: pack(checkpointer, stopped) };
    };
    return {
      runtime: governed.runtime,
      run: (script, runOptions) =>
        go({ messages: [new HumanMessage('Go.')] }, new MemorySaver(), script, runOptions),
      resume(suspended, answer, script, runOptions) {
        const { checkpointer, id, confirmationId } = unpack(suspended);
        const resume = { [id]: { confirmationId, ...answer } };
        return go(new Command({ resume }), checkpointer, script, runOptions);
      },
    };
  },
});

export const toTool = (plain: PlainTool) =>
  tool((args: Record<string, unknown>, { signal }: { signal?: AbortSignal }) => plain.run(args, signal), {
    name: plain.name,
    description: `The tool ${plain.name}.`,
    schema: toJsonSchema(plain),
    ...(plain.annotations !== undefined && { metadata: { annotations: plain.annotations } }),
  });

/** Says what the script says, and remembers the results of calls. */
export class ScriptedModel extends BaseChatModel {
  readonly told: Told[] = [];
  readonly #player: ReturnType<typeof createPlayer>;

  constructor(script: Script) {
    super({});
    this.#player = createPlayer(script);
  }

  override _llmType(): string {
    return 'scripted';
  }

  override bindTools(): this {
    return this;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const message = new AIMessage(await this.#next(messages));
    return { generations: [{ message, text: message.text }] };
  }

  override async *_streamResponseChunks(messages: BaseMessage[]): AsyncGenerator<ChatGenerationChunk> {
    const message = new AIMessageChunk(await this.#next(messages));
    yield new ChatGenerationChunk({ message, text: message.text });
  }

  async #next(messages: readonly BaseMessage[]) {
    this.told.splice(
      0,
      this.told.length,
      ...messages.filter((message) => ToolMessage.isInstance(message)).map(readTold),
    );
    return toFields(await this.#player.next(this.told));
  }
}

const toFields = (round: Round) =>
  'text' in round
    ? { content: round.text }
    : {
        content: '',
        tool_calls: round.calls.map(({ id, name, arguments: args }) => ({
          id,
          name,
          args: { ...args },
          type: 'tool_call' as const,
        })),
      };

const readTold = ({ tool_call_id: callId, content, status }: ToolMessage): Told => ({
  callId,
  texts:
    typeof content === 'string'
      ? [content]
      : content.flatMap((part) => (part.type === 'text' ? [String(part['text'])] : [])),
  isError: status === 'error',
});

type Suspended = {
  readonly storage: MemorySaver['storage'];
  readonly writes: MemorySaver['writes'];
  readonly id: string;
  readonly confirmationId: string;
};

/** The content of the checkpointer as text: its leaves are bytes. */
const pack = (
  { storage, writes }: MemorySaver,
  { id, value: { confirmationId } }: { readonly id: string; readonly value: LangChainQuestion },
): string =>
  JSON.stringify({ storage, writes, id, confirmationId }, (_, value: unknown) =>
    value instanceof Uint8Array ? { $bytes: Buffer.from(value).toString('base64') } : value,
  );

function unpack(text: string): {
  readonly checkpointer: MemorySaver;
  readonly id: string;
  readonly confirmationId: string;
} {
  const { storage, writes, ...rest } = JSON.parse(text, (_, value: { readonly $bytes?: string } | null) =>
    typeof value?.$bytes === 'string' ? new Uint8Array(Buffer.from(value.$bytes, 'base64')) : value,
  ) as Suspended;
  return { checkpointer: Object.assign(new MemorySaver(), { storage, writes }), ...rest };
}
