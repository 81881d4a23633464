/** An agent of the AI SDK. Versions 6 and 7 differ only in names here. */
import { governTools } from '@quittance/ai-sdk';
import type { Harness, PlainTool, Ran, Round, RunOptions, Script, Told } from '../suite/harness.ts';
import { createPlayer, toJsonSchema } from '../suite/harness.ts';

/** The parts of the package that are used here. */
export type AiSdk = {
  readonly generateText: (options: never) => Promise<AiSdkResult>;
  readonly streamText: (options: never) => AiSdkStream;
  readonly tool: (tool: never) => unknown;
  readonly jsonSchema: (schema: never) => unknown;
  readonly stepCountIs: (count: number) => unknown;
};
type Message = { readonly role: string; readonly content: unknown };
type AiSdkResult = {
  readonly text: string;
  readonly finishReason: string;
  readonly content: readonly { readonly type: string; readonly approvalId?: string }[];
  readonly responseMessages?: readonly Message[];
  readonly response: { readonly messages: readonly Message[] };
};
type AiSdkStream = {
  readonly text: Promise<string>;
  readonly consumeStream: (options: { onError: (error: unknown) => void }) => Promise<void>;
};
export type MockModel = new (handlers: {
  readonly doGenerate: (options: { readonly prompt: readonly Message[] }) => Promise<unknown>;
  readonly doStream: (options: { readonly prompt: readonly Message[] }) => Promise<unknown>;
}) => object;

export function aiSdkHarness(version: 6 | 7, module: string, sdk: AiSdk, Mock: MockModel): Harness {
  return {
    name: `AI SDK ${version}`,
    module,
    streams: true,
    suspends: true,
    denialIsError: true,
    annotations: 'of a server',
    async start(plain, options) {
      const governed = await governTools(
        Object.fromEntries(plain.map((one) => [one.name, toTool(sdk, one)])),
        options,
      );
      const go = async (
        messages: readonly Message[],
        script: Script,
        { sessionId, signal, stream = false }: RunOptions,
      ): Promise<Ran> => {
        const told: Told[] = [];
        const run = governed.run({ sessionId });
        await run.takeApprovals(messages);
        const settings = {
          model: scriptedModel(Mock, script, told, messages.length),
          messages,
          tools: run.tools,
          ...(version === 7 && options.approver !== undefined && { toolApproval: run.toolApproval }),
          stopWhen: sdk.stepCountIs(10),
          ...(signal !== undefined && { abortSignal: signal }),
        } as never;
        if (stream) {
          const streaming = sdk.streamText(settings);
          await streaming.consumeStream({
            onError: (error) => {
              throw error;
            },
          });
          return { text: await streaming.text, told };
        }
        const result = await sdk.generateText(settings);
        const [request] = result.content.filter(({ type }) => type === 'tool-approval-request');
        if (request === undefined) return { text: result.text, told };
        const history = [...messages, ...(result.responseMessages ?? result.response.messages)];
        return {
          text: undefined,
          told,
          suspended: JSON.stringify({ history, approvalId: request.approvalId }),
        };
      };
      return {
        runtime: governed.runtime,
        run: (script, runOptions) => go([{ role: 'user', content: 'Go.' }], script, runOptions),
        resume: (suspended, answer, script, runOptions) => {
          const { history, approvalId } = JSON.parse(suspended) as {
            history: Message[];
            approvalId: string;
          };
          const response = { type: 'tool-approval-response', approvalId, ...answer };
          return go([...history, { role: 'tool', content: [response] }], script, runOptions);
        },
      };
    },
  };
}

export const toTool = (sdk: AiSdk, plain: PlainTool): unknown =>
  sdk.tool({
    description: `The tool ${plain.name}.`,
    inputSchema: sdk.jsonSchema(toJsonSchema(plain) as never),
    ...(plain.needsApproval !== undefined && { needsApproval: plain.needsApproval }),
    ...(plain.annotations !== undefined && { metadata: { annotations: plain.annotations } }),
    execute: (input: Record<string, unknown>, { abortSignal }: { abortSignal?: AbortSignal }) =>
      plain.run(input, abortSignal),
  } as never);

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

export function scriptedModel(Mock: MockModel, script: Script, told: Told[], skip: number): object {
  const player = createPlayer(script);
  const next = async (prompt: readonly Message[]): Promise<readonly Part[]> => {
    told.splice(0, told.length, ...prompt.slice(skip - 1).flatMap(readTold));
    return toParts(await player.next(told));
  };
  const finish = (parts: readonly Part[]) => {
    const unified = parts.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop';
    return { usage, finishReason: { unified, raw: unified } };
  };
  return new Mock({
    doGenerate: async ({ prompt }) => {
      const content = await next(prompt);
      return { content, ...finish(content), warnings: [] };
    },
    doStream: async ({ prompt }) => {
      const content = await next(prompt);
      const parts = content.flatMap<object>((part) =>
        part.type === 'text'
          ? [
              { type: 'text-start', id: 't' },
              { type: 'text-delta', id: 't', delta: part.text },
              { type: 'text-end', id: 't' },
            ]
          : [part],
      );
      const all = [{ type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', ...finish(content) }];
      return {
        stream: new ReadableStream({
          start: (controller) => {
            for (const part of all) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
  });
}

type Part =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool-call';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: string;
    };

const toParts = (round: Round): readonly Part[] =>
  'text' in round
    ? [{ type: 'text', text: round.text }]
    : round.calls.map(({ id, name, arguments: args }) => ({
        type: 'tool-call',
        toolCallId: id,
        toolName: name,
        input: JSON.stringify(args),
      }));

type ToolResult = {
  readonly type: string;
  readonly toolCallId: string;
  readonly output: {
    readonly type: string;
    readonly value?: string | readonly { readonly type: string; readonly text?: string }[];
  };
};

const readTold = ({ role, content }: Message): readonly Told[] =>
  role !== 'tool'
    ? []
    : (content as readonly ToolResult[]).flatMap(({ type, toolCallId, output }) =>
        type !== 'tool-result'
          ? []
          : {
              callId: toolCallId,
              texts:
                typeof output.value === 'string'
                  ? [output.value]
                  : // A value that is neither a text nor a list of parts is not from a governed tool.
                    (Array.isArray(output.value) ? output.value : []).flatMap(({ text }) => text ?? []),
              isError: output.type === 'content' ? undefined : output.type.startsWith('error'),
            },
      );
