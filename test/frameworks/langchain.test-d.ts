/** The types of the adapter against those of the real packages. */
import type { StructuredTool } from '@langchain/core/tools';
import { tool } from '@langchain/core/tools';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import type { InterruptOnConfig } from 'langchain';
import { createAgent, createMiddleware } from 'langchain';
import { defineTool } from 'quittance';
import type { LangChainInterruptOn } from '@quittance/langchain';
import { governTools } from '@quittance/langchain';
import { z } from 'zod';

const weather = tool(({ city }) => `Sunny in ${city}.`, {
  name: 'weather',
  description: 'Says what the weather is.',
  schema: z.object({ city: z.string() }),
});
const pay = tool((args: unknown) => args, {
  name: 'pay',
  description: 'Pays.',
  schema: { type: 'object', properties: {} },
});
declare const custom: StructuredTool;
const own = defineTool({ name: 'own', run: () => 1 });
const search = { type: 'web_search_20250305', name: 'web_search' } as const;

const governed = await governTools([weather, pay, custom, own, search], {
  ungoverned: ['web_search'],
  principal: ({ configurable }) => ({ userId: String(configurable?.['user']) }),
  interruptOn: { pay: { allowedDecisions: ['approve', 'reject'], description: 'Pay?' } },
});

createAgent({ model: 'any', tools: governed.tools });
createAgent({
  model: 'any',
  tools: governed.tools,
  middleware: [createMiddleware({ name: 'quittance', wrapToolCall: governed.wrapToolCall })],
});

const some = await governTools([weather, pay]);
new ToolNode(some.tools);

// @ts-expect-error a function is not a tool
await governTools([() => 1]);

declare const theirs: Record<string, boolean | InterruptOnConfig>;
theirs satisfies LangChainInterruptOn;
