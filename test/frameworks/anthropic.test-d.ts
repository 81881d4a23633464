/** The types of the adapter against those of the real package. */
import type Anthropic from '@anthropic-ai/sdk';
import { defineTool } from 'quittance';
import type { PendingCall, Runtime, Turn } from 'quittance';
import type { AnthropicTool, AnthropicToolResult } from '@quittance/anthropic';
import { governTools } from '@quittance/anthropic';

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
run.tools satisfies AnthropicTool[];
run.tools satisfies Anthropic.ToolUnion[];
declare const message: Anthropic.Message;
declare const conversation: Anthropic.MessageParam[];
const results = await run.answer(message, { conversation });
results satisfies AnthropicToolResult[];
conversation.push({ role: 'assistant', content: message.content }, { role: 'user', content: results });
await run.answer(message.content);
const { results: some, pending } = await run.answerOrPending(message);
some satisfies Anthropic.ToolResultBlockParam[];
pending satisfies readonly PendingCall[];
// @ts-expect-error: the message of the model, not its text
await run.answer('Go.');
