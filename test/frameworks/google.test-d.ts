/** The types that the adapters for Google declare, held against the real ones. */
import type { BasePlugin, BaseTool, Context } from '@google/adk';
import { FunctionTool, LlmAgent, MCPToolset } from '@google/adk';
import type { CallableTool, Content, GenerateContentResponse, Part, ToolListUnion } from '@google/genai';
import { defineTool } from 'quittance';
import type { AdkTool, AdkToolContext, AdkToolset } from 'quittance/google-adk';
import { governTools as governAdk } from 'quittance/google-adk';
import type { GenAiCallable } from 'quittance/google-genai';
import { governTools as governGenAi } from 'quittance/google-genai';
import { z } from 'zod';

const refund = new FunctionTool({
  name: 'refund',
  description: 'Pays money back.',
  parameters: z.object({ cents: z.number() }),
  execute: ({ cents }) => cents.toFixed(2),
});
const shop = new MCPToolset({ type: 'StdioConnectionParams', serverParams: { command: 'shop' } });
const own = defineTool({ name: 'own', run: () => 1 });

refund satisfies AdkTool;
shop satisfies AdkToolset;
declare const context: Context;
context satisfies AdkToolContext;

const adk = await governAdk([refund, shop, own], {
  approver: ({ invocationContext }) => invocationContext.session.userId,
  principal: ({ invocationContext }) => ({ userId: invocationContext.session.userId }),
});
adk.tools satisfies readonly BaseTool[];
adk.plugin satisfies BasePlugin;
new LlmAgent({ name: 'a', model: 'any', tools: adk.tools });
// @ts-expect-error: a list of tools, not an object
await governAdk({ refund });

declare const mcp: CallableTool;
mcp satisfies GenAiCallable;
const genAi = await governGenAi(
  { add: ({ a, b }: { a: number; b: number }) => a + b },
  { callableTools: [mcp] },
);
// @ts-expect-error: calls without ids are told apart by the conversation
genAi.run({ sessionId: 's' });
const conversation: Content[] = [];
const run = genAi.run({ sessionId: 's', conversation });
run.tools satisfies ToolListUnion;
run.callableTool() satisfies CallableTool;
declare const response: GenerateContentResponse;
(await run.answer(response)) satisfies Part[];
(await run.answer([response])) satisfies Part[];
(await run.answerOrPending(response)).results satisfies Part[];
