import type OpenAI from 'openai';
import type { Harness, Told } from '../suite/harness.ts';
import { openAiHarness, scriptedClient } from './openai.ts';

const harness: Harness = openAiHarness(
  'OpenAI SDK, responses',
  import.meta.url,
  (governed) =>
    async (script, { sessionId, signal }) => {
      const told: Told[] = [];
      const client = scriptedClient(script, told, readTold, (round) => ({
        id: `resp_${crypto.randomUUID()}`,
        object: 'response',
        status: 'completed',
        output:
          'text' in round
            ? [
                {
                  type: 'message',
                  id: `msg_${crypto.randomUUID()}`,
                  role: 'assistant',
                  status: 'completed',
                  content: [{ type: 'output_text', text: round.text, annotations: [] }],
                },
              ]
            : round.calls.map(({ id, name, arguments: args }) => ({
                type: 'function_call',
                id: `fc_${id}`,
                call_id: id,
                name,
                arguments: JSON.stringify(args),
                status: 'completed',
              })),
      }));
      const options = { ...(signal !== undefined && { signal }) };
      const run = governed.run({ sessionId });
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Go.' }];
      for (;;) {
        const body = { model: 'scripted', tools: run.responseTools, input };
        const response = await client.responses.create(body, options);
        const outputs = await run.answerResponse(response, options);
        if (outputs.length === 0) return { text: response.output_text, told };
        // The model's output goes back to it: outputs are inputs to this API, which its types state only for
        // most.
        input.push(...(response.output as OpenAI.Responses.ResponseInput), ...outputs);
      }
    },
);
export default harness;

const readTold = ({ input }: { input: OpenAI.Responses.ResponseInput }): readonly Told[] =>
  input.flatMap((item) =>
    item.type !== 'function_call_output' || typeof item.output === 'string'
      ? []
      : {
          callId: item.call_id ?? '',
          texts: item.output.flatMap((part) => (part.type === 'input_text' ? [part.text] : [])),
          isError: undefined,
        },
  );
