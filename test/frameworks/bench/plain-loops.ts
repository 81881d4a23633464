/** Hand-written loops: over the two SDKs without an agent, and over plain functions. */
import Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { createRuntime, govern } from 'quittance';
import { governTools as governAnthropic } from '@quittance/anthropic';
import { governTools as governOpenAi } from '@quittance/openai';
import { scriptedClient } from '../harnesses/openai.ts';
import { plainTools } from '../harnesses/plain-tools.ts';
import type { PlainTool, Script } from '../suite/harness.ts';
import { createPlayer, toJsonSchema } from '../suite/harness.ts';
import type { Lane } from './lane.ts';

/** What a loop does without Quittance: the body, and its output as JSON. */
const runBare = async (tool: PlainTool, input: unknown): Promise<string> =>
  JSON.stringify(await tool.run(input as Record<string, unknown>, undefined));

export const anthropic: Lane = {
  name: 'Anthropic SDK',
  async start(tool, options) {
    const governed = options && (await governAnthropic(plainTools([tool]), options));
    const bare: Anthropic.Tool[] = [{ name: tool.name, input_schema: toJsonSchema(tool) }];
    return async (script, sessionId) => {
      const client = scriptedAnthropic(script);
      const run = governed?.run({ sessionId });
      const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Go.' }];
      for (;;) {
        const tools = run?.tools ?? bare;
        const message = await client.messages.create({
          model: 'scripted',
          max_tokens: 1_000,
          tools,
          messages,
        });
        if (message.stop_reason !== 'tool_use') return;
        const uses = message.content.filter(({ type }) => type === 'tool_use') as Anthropic.ToolUseBlock[];
        const content =
          (await run?.answer(message)) ??
          (await Promise.all(
            uses.map(async ({ id, input }) => ({
              type: 'tool_result' as const,
              tool_use_id: id,
              content: await runBare(tool, input),
            })),
          ));
        messages.push({ role: 'assistant', content: message.content }, { role: 'user', content });
      }
    };
  },
};

function scriptedAnthropic(script: Script): Anthropic {
  const player = createPlayer(script);
  return new Anthropic({
    apiKey: 'none',
    maxRetries: 0,
    fetch: async () => {
      const round = await player.next([]);
      const isOver = 'text' in round;
      return Response.json({
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'scripted',
        content: isOver
          ? [{ type: 'text', text: round.text }]
          : round.calls.map(({ arguments: input, ...call }) => ({ type: 'tool_use', input, ...call })),
        stop_reason: isOver ? 'end_turn' : 'tool_use',
        stop_sequence: null,
        usage: { input_tokens: 1, output_tokens: 1 },
      });
    },
  });
}

export const openAi: Lane = {
  name: 'OpenAI SDK, responses',
  async start(tool, options) {
    const governed = options && (await governOpenAi(plainTools([tool]), options));
    const bare: OpenAI.Responses.FunctionTool[] = [
      { type: 'function', name: tool.name, parameters: toJsonSchema(tool), strict: false },
    ];
    return async (script, sessionId) => {
      const run = governed?.run({ sessionId });
      const client = scriptedClient(
        script,
        [],
        () => [],
        (round) => ({
          id: 'resp_1',
          object: 'response',
          status: 'completed',
          output:
            'text' in round
              ? []
              : round.calls.map(({ id, name, arguments: args }) => ({
                  type: 'function_call',
                  id: `fc_${id}`,
                  call_id: id,
                  name,
                  arguments: JSON.stringify(args),
                  status: 'completed',
                })),
        }),
      );
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Go.' }];
      for (;;) {
        const tools = run?.responseTools ?? bare;
        const response = await client.responses.create({ model: 'scripted', tools, input });
        const calls = response.output.filter((item) => item.type === 'function_call');
        if (calls.length === 0) return;
        const outputs =
          (await run?.answerResponse(response)) ??
          (await Promise.all(
            calls.map(async ({ call_id, arguments: args }) => ({
              type: 'function_call_output' as const,
              call_id,
              output: await runBare(tool, JSON.parse(args)),
            })),
          ));
        input.push(...calls, ...outputs);
      }
    };
  },
};

export const anyFunction: Lane = {
  name: 'any function',
  async start(tool, options) {
    const { overrides = {}, ...rest } = options ?? {};
    const runtime =
      options && createRuntime({ ...rest, tools: govern(plainTools([tool]), overrides) } as never);
    return async (script, sessionId) => {
      const player = createPlayer(script);
      const turn = runtime?.turn({ sessionId });
      for (;;) {
        const round = await player.next([]);
        if ('text' in round) return;
        for (const call of round.calls)
          if (turn === undefined) await runBare(tool, call.arguments);
          else await turn.call(call);
      }
    };
  },
};
