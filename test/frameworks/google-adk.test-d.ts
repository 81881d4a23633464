/** The types of the adapter for the Agent Development Kit against those of the real package. */
import type { BasePlugin, BaseTool, Context } from '@google/adk';
import { FunctionTool, LlmAgent, MCPToolset, Runner } from '@google/adk';
import { defineTool } from 'quittance';
import type { AdkTool, AdkToolContext, AdkToolset } from '@quittance/google-adk';
import { governTools as governAdk } from '@quittance/google-adk';
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
declare const agent: LlmAgent;
declare const sessionService: ConstructorParameters<typeof Runner>[0]['sessionService'];
new Runner({ appName: 'a', agent, sessionService, plugins: [adk.plugin] });
// @ts-expect-error: the approver is a name, or gives one
await governAdk([refund], { approver: 5 });
