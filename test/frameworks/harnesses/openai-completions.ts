import type OpenAI from 'openai';
import type { Harness, Told } from '../suite/harness.ts';
import { openAiHarness, scriptedClient } from './openai.ts';

const harness: Harness = openAiHarness(
  'OpenAI SDK, chat completions',
  import.meta.url,
  (governed) =>
    async (script, { sessionId, signal }) => {
      const told: Told[] = [];
      const client = scriptedClient(script, told, readTold, (round) => ({
        id: `chatcmpl_${crypto.randomUUID()}`,
        object: 'chat.completion',
        created: 0,
        model: 'scripted',
        choices: [
          {
            index: 0,
            finish_reason: 'text' in round ? 'stop' : 'tool_calls',
            message:
              'text' in round
                ? { role: 'assistant', content: round.text }
                : {
                    role: 'assistant',
                    content: null,
                    tool_calls: round.calls.map(({ id, name, arguments: args }) => ({
                      id,
                      type: 'function',
                      function: { name, arguments: JSON.stringify(args) },
                    })),
                  },
          },
        ],
      }));
      const options = { ...(signal !== undefined && { signal }) };
      const run = governed.run({ sessionId });
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Go.' }];
      for (;;) {
        const body = { model: 'scripted', tools: run.completionTools, messages };
        const completion = await client.chat.completions.create(body, options);
        const answers = await run.answerCompletion(completion, options);
        const message = completion.choices[0]?.message;
        if (message === undefined || answers.length === 0)
          return { text: message?.content ?? undefined, told };
        messages.push(message, ...answers);
      }
    },
);
export default harness;

const readTold = ({ messages }: { messages: OpenAI.ChatCompletionMessageParam[] }): readonly Told[] =>
  messages.flatMap((message) =>
    message.role !== 'tool' || typeof message.content === 'string'
      ? []
      : {
          callId: message.tool_call_id,
          texts: message.content.map(({ text }) => text),
          isError: undefined,
        },
  );
