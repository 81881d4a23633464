/** An agent of OpenAI Agents JS, whose model follows a script. */
import type { AgentInputItem, Model, protocol } from '@openai/agents';
import { Agent, Runner, RunState, setTracingDisabled, tool, Usage } from '@openai/agents';
import { governTools } from '@quittance/openai-agents';
import type { Harness, PlainTool, Ran, Round, RunOptions, Script, Told } from '../suite/harness.ts';
import { createPlayer, toJsonSchema } from '../suite/harness.ts';

type Context = { readonly sessionId: string };
type Item = protocol.AssistantMessageItem | protocol.FunctionCallItem;

setTracingDisabled(true);

const harness: Harness = {
  name: 'OpenAI Agents',
  module: import.meta.url,
  streams: true,
  suspends: true,
  reuse: 'refused',
  annotations: 'of a server',
  async start(plain, options) {
    const governed = await governTools(plain.map(toTool), options);
    const agentOf = (model: Model | undefined): Agent<Context> =>
      new Agent<Context>({ name: 'agent', tools: governed.tools, ...(model && { model }) });

    const go = async (
      begin: (agent: Agent<Context>) => Promise<'Go.' | RunState<Context, Agent<Context, 'text'>>>,
      script: Script,
      { sessionId, signal, stream = false }: RunOptions,
    ): Promise<Ran> => {
      const told: Told[] = [];
      const agent = agentOf(scriptedModel(script, told));
      const runner = new Runner({ toolNotFoundBehavior: 'return_error_to_model' });
      const shared = { context: { sessionId }, ...(signal !== undefined && { signal }) };
      const input = await begin(agent);
      const result = stream
        ? await runner.run(agent, input, { ...shared, stream: true })
        : await runner.run(agent, input, shared);
      if ('completed' in result) {
        for await (const event of result) void event;
        await result.completed;
      }
      if (result.interruptions.length > 0)
        return { text: undefined, told, suspended: result.state.toString() };
      return { text: String(result.finalOutput), told };
    };
    return {
      runtime: governed.runtime,
      run: (script, runOptions) => go(async () => 'Go.', script, runOptions),
      resume: (suspended, { approved, reason }, script, runOptions) =>
        go(
          async (agent) => {
            const state = await RunState.fromString<Context, Agent<Context, 'text'>>(agent, suspended);
            for (const interruption of state.getInterruptions())
              if (approved) state.approve(interruption);
              else state.reject(interruption, reason === undefined ? {} : { message: reason });
            await governed.takeApprovals(state);
            return state;
          },
          script,
          runOptions,
        ),
    };
  },
};

export default harness;

export const toTool = (plain: PlainTool) =>
  Object.assign(
    tool({
      name: plain.name,
      description: `The tool ${plain.name}.`,
      parameters: { ...toJsonSchema(plain), additionalProperties: true },
      strict: false,
      ...(plain.needsApproval !== undefined && { needsApproval: plain.needsApproval }),
      execute: (input, _runContext, details) =>
        plain.run(input as Readonly<Record<string, unknown>>, details?.signal),
    }),
    plain.annotations === undefined ? {} : { annotations: plain.annotations },
  );

/** A model of the SDK that follows the script and records its input. */
export function scriptedModel(script: Script, told: Told[]): Model {
  const player = createPlayer(script);
  let responses = 0;
  const next = async (input: string | AgentInputItem[]): Promise<Item[]> => {
    told.splice(0, told.length, ...(typeof input === 'string' ? [] : input.flatMap(readTold)));
    responses++;
    return toItems(await player.next(told), responses);
  };
  return {
    getResponse: async ({ input }) => ({
      output: await next(input),
      usage: new Usage(),
      responseId: `r${responses}`,
    }),
    async *getStreamedResponse({ input }) {
      const output = await next(input);
      yield { type: 'response_started' };
      const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
      yield { type: 'response_done', response: { id: `r${responses}`, usage, output } };
    },
  };
}

const toItems = (round: Round, response: number): Item[] =>
  'text' in round
    ? [
        {
          type: 'message',
          id: `m${response}`,
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: round.text }],
        },
      ]
    : round.calls.map(({ id, name, arguments: args }) => ({
        type: 'function_call',
        id: `fc_${id}`,
        callId: id,
        name,
        // Models write texts. A script may have one that is not JSON.
        arguments: typeof args === 'string' ? args : JSON.stringify(args),
        status: 'completed',
      }));

const readTold = (item: AgentInputItem): readonly Told[] => {
  if (item.type !== 'function_call_result') return [];
  const { callId, output } = item;
  const parts = typeof output === 'string' ? [{ text: output }] : Array.isArray(output) ? output : [output];
  return [{ callId, texts: parts.flatMap((part) => ('text' in part ? part.text : [])), isError: undefined }];
};
