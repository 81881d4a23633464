/** A plain loop over the Anthropic SDK, whose requests are answered from a script. */
import Anthropic from '@anthropic-ai/sdk';
import { governTools } from '@quittance/anthropic';
import type { Harness, Told } from '../suite/harness.ts';
import { createPlayer } from '../suite/harness.ts';
import { plainTools } from './plain-tools.ts';

const harness: Harness = {
  name: 'Anthropic SDK',
  module: import.meta.url,
  streams: false,
  suspends: false,
  async start(tools, options) {
    const governed = await governTools(plainTools(tools), options);
    return {
      runtime: governed.runtime,
      async run(script, { sessionId, signal }) {
        const player = createPlayer(script);
        const told: Told[] = [];
        const client = new Anthropic({
          apiKey: 'none',
          maxRetries: 0,
          fetch: async (_, init) => {
            const { messages } = JSON.parse(await new Response(init?.body ?? null).text()) as {
              messages: Anthropic.MessageParam[];
            };
            told.splice(0, told.length, ...messages.flatMap(readTold));
            const round = await player.next(told);
            return Response.json({
              id: `msg_${crypto.randomUUID()}`,
              type: 'message',
              role: 'assistant',
              model: 'scripted',
              content:
                'text' in round
                  ? [{ type: 'text', text: round.text }]
                  : round.calls.map(({ id, name, arguments: input }) => ({
                      type: 'tool_use',
                      id,
                      name,
                      input,
                    })),
              stop_reason: 'text' in round ? 'end_turn' : 'tool_use',
              stop_sequence: null,
              usage: { input_tokens: 1, output_tokens: 1 },
            });
          },
        });
        const run = governed.run({ sessionId });
        const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Go.' }];
        for (;;) {
          const message = await client.messages.create(
            { model: 'scripted', max_tokens: 1_000, tools: run.tools, messages },
            { ...(signal !== undefined && { signal }) },
          );
          messages.push({ role: 'assistant', content: message.content });
          if (message.stop_reason !== 'tool_use') {
            const [block] = message.content;
            return { text: block?.type === 'text' ? block.text : undefined, told };
          }
          const content = await run.answer(message, { ...(signal !== undefined && { signal }) });
          messages.push({ role: 'user', content });
        }
      },
    };
  },
};
export default harness;

const readTold = ({ content }: Anthropic.MessageParam): readonly Told[] =>
  typeof content === 'string'
    ? []
    : content.flatMap((block) =>
        block.type !== 'tool_result' || !Array.isArray(block.content)
          ? []
          : {
              callId: block.tool_use_id,
              texts: block.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
              isError: block.is_error ?? false,
            },
      );
