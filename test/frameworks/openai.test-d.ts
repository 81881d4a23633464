/** The types of the adapter against those of the real package. */
import type OpenAI from 'openai';
import { defineTool } from 'quittance';
import type { PendingCall, Runtime, Turn } from 'quittance';
import type { OpenAiCallOutput, OpenAiToolMessage } from '@quittance/openai';
import { governTools } from '@quittance/openai';

const governed = await governTools({
  add: ({ a, b }: { a: number; b: number }) => a + b,
  refund: {
    description: 'Pays.',
    inputSchema: { type: 'object' },
    run: (args: { cents: number }) => args.cents,
  },
});
governed.runtime satisfies Runtime;
await governTools([defineTool({ name: 'own', run: () => 1 })]);
// @ts-expect-error: a tool is a function, or has one
await governTools({ add: 5 });
// @ts-expect-error: a run belongs to a session
governed.run({});

const run = governed.run({ sessionId: 's' });
run.turn satisfies Turn;

run.responseTools satisfies OpenAI.Responses.Tool[];
declare const response: OpenAI.Responses.Response;
declare const conversation: OpenAI.Responses.ResponseInput;
const outputs = await run.answerResponse(response, { conversation });
outputs satisfies OpenAiCallOutput[];
outputs satisfies OpenAI.Responses.ResponseInput;
await run.answerResponse(response.output);
const heldResponse = await run.answerResponseOrPending(response);
heldResponse.results satisfies OpenAI.Responses.ResponseInput;
heldResponse.pending satisfies readonly PendingCall[];

run.completionTools satisfies OpenAI.ChatCompletionTool[];
declare const completion: OpenAI.ChatCompletion;
const told = await run.answerCompletion(completion);
told satisfies OpenAiToolMessage[];
told satisfies OpenAI.ChatCompletionMessageParam[];
const heldCompletion = await run.answerCompletionOrPending(completion);
heldCompletion.results satisfies OpenAI.ChatCompletionMessageParam[];
// @ts-expect-error: a response, not its text
await run.answerResponse('Go.');
