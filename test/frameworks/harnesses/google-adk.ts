/** An agent of the Agent Development Kit, run by its runner, with a model that follows a script. */
import type { Content, Part } from '@google/genai';
import type { BaseLlmConnection, Event, LlmRequest, LlmResponse, Session } from '@google/adk';
import {
  BaseLlm,
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  LogLevel,
  Runner,
  setLogLevel,
  StreamingMode,
} from '@google/adk';
import { governTools } from '@quittance/google-adk';
import type { Harness, PlainTool, Ran, RunOptions, Script, Told } from '../suite/harness.ts';
import { createPlayer, toJsonSchema } from '../suite/harness.ts';

setLogLevel(LogLevel.ERROR);

const harness: Harness = {
  name: 'Google ADK',
  module: import.meta.url,
  streams: true,
  suspends: true,
  annotations: 'of a server',
  oneByOne: 'always',
  reuse: 'told the last',
  async start(plain, options) {
    const governed = await governTools(plain.map(toTool), {
      ...options,
      session: ({ invocationContext }) => invocationContext.session.id,
    });
    const go = async (
      script: Script,
      { sessionId, signal, stream = false }: RunOptions,
      newMessage: Content,
      kept?: Session,
    ): Promise<Ran> => {
      const told: Told[] = [];
      const agent = new LlmAgent({
        name: 'clerk',
        model: new ScriptedModel(script, told),
        tools: governed.tools,
      });
      const sessionService = new InMemorySessionService();
      const user = { appName: 'shop', userId: 'ada', sessionId };
      const session = await sessionService.createSession(user);
      for (const event of kept?.events ?? []) await sessionService.appendEvent({ session, event });
      const runner = new Runner({ appName: 'shop', agent, sessionService, plugins: [governed.plugin] });
      const events: Event[] = [];
      for await (const event of runner.runAsync({
        userId: 'ada',
        sessionId,
        newMessage,
        runConfig: { streamingMode: stream ? StreamingMode.SSE : StreamingMode.NONE },
        ...(signal !== undefined && { abortSignal: signal }),
      }))
        events.push(event);
      signal?.throwIfAborted();
      const asked = events.flatMap(({ content }) => questionsIn(content));
      if (asked.length > 0) {
        const stored = await sessionService.getSession(user);
        return { text: undefined, told, suspended: JSON.stringify({ asked, session: stored }) };
      }
      const failed = events.find(({ errorMessage }) => errorMessage !== undefined);
      if (failed !== undefined) throw new Error(failed.errorMessage);
      const last = events.findLast(({ partial }) => partial !== true)?.content?.parts;
      return { text: last?.map(({ text }) => text ?? '').join(''), told };
    };
    return {
      runtime: governed.runtime,
      run: (script, runOptions) => go(script, runOptions, { role: 'user', parts: [{ text: 'Go.' }] }),
      resume: (suspended, { approved }, script, runOptions) => {
        const { asked, session } = JSON.parse(suspended) as { asked: string[]; session: Session };
        const parts = asked.map((id) => ({
          functionResponse: { id, name: 'adk_request_confirmation', response: { confirmed: approved } },
        }));
        return go(script, runOptions, { role: 'user', parts }, session);
      },
    };
  },
};
export default harness;

/** The ids of the questions that a run stopped with. */
export const questionsIn = (content: Content | undefined): string[] =>
  content?.parts?.flatMap(({ functionCall }) =>
    functionCall?.name === 'adk_request_confirmation' ? [functionCall.id ?? ''] : [],
  ) ?? [];

export const toTool = (plain: PlainTool) =>
  Object.assign(toFunctionTool(plain), {
    // Where a tool of MCPToolset stores the server's annotations.
    ...(plain.annotations !== undefined && { mcpTool: { name: plain.name, annotations: plain.annotations } }),
  });

const toFunctionTool = (plain: PlainTool) =>
  new FunctionTool({
    name: plain.name,
    description: `The tool ${plain.name}.`,
    // The kit accepts its own dialect and JSON Schema.
    parameters: toJsonSchema(plain) as never,
    ...(plain.needsApproval !== undefined && { requireConfirmation: plain.needsApproval }),
    execute: (args: unknown, context) =>
      plain.run(args as Readonly<Record<string, unknown>>, context?.abortSignal),
  });

/** `toParts` returns the parts of the model's message; by default with the ids of the script. */
export class ScriptedModel extends BaseLlm {
  readonly #player;
  readonly #told: Told[];
  readonly #calls: (call: { id: string; name: string; arguments: object }) => Part;

  constructor(
    script: Script,
    told: Told[] = [],
    toPart = (call: { id: string; name: string; arguments: object }): Part => ({
      functionCall: { id: call.id, name: call.name, args: { ...call.arguments } },
    }),
  ) {
    super({ model: 'scripted' });
    this.#player = createPlayer(script);
    this.#told = told;
    this.#calls = toPart;
  }

  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    this.#told.splice(0, this.#told.length, ...request.contents.flatMap(readTold));
    const round = await this.#player.next(this.#told);
    const parts = 'text' in round ? [{ text: round.text }] : round.calls.map(this.#calls);
    yield { content: { role: 'model', parts }, turnComplete: true };
  }

  override connect(): Promise<BaseLlmConnection> {
    throw new Error('The scripted model has no live connection.');
  }
}

const readTold = ({ parts = [] }: Content): readonly Told[] =>
  parts.flatMap(({ functionResponse }) => {
    if (functionResponse === undefined) return [];
    const response = functionResponse.response as Record<string, unknown>;
    const keys = Object.keys(response).join();
    const told =
      keys === 'output,note'
        ? response['output']
        : keys === 'result' || keys === 'results'
          ? Object.values(response)[0]
          : response;
    const note = keys === 'output,note' ? [String(response['note'])] : [];
    return {
      callId: functionResponse.id ?? '',
      texts: [JSON.stringify(told), ...note],
      isError: undefined,
    };
  });
