/** The types the adapter declares, held against the real ones. */
import type { RunContext, RunState, RunToolApprovalItem, Tool } from '@openai/agents';
import { Agent, tool, webSearchTool } from '@openai/agents';
import { defineTool } from 'quittance';
import type {
  OpenAiAgentsCallDetails,
  OpenAiAgentsInterruption,
  OpenAiAgentsRunContext,
  OpenAiAgentsState,
  OpenAiAgentsTool,
} from '@quittance/openai-agents';
import { governTools } from '@quittance/openai-agents';
import { z } from 'zod';

type Context = { readonly sessionId: string; readonly user: string };

const weather = tool({
  name: 'weather',
  description: 'Tells the weather.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }, runContext) => `${city}: ${String(runContext?.context)}`,
});
const own = defineTool({ name: 'own', input: z.object({}), run: () => 'ours' });

const governed = await governTools([weather, own, webSearchTool()], { ungoverned: ['web_search'] });
const [wrapped, ours, search, readArtifact] = governed.tools;
wrapped satisfies typeof weather;
search satisfies Tool;
new Agent({ name: 'a', tools: governed.tools });
new Agent<Context>({ name: 'a', tools: [wrapped, ours, readArtifact] });
[ours, readArtifact] satisfies Tool<Context>[];

// The values from the SDK match the declared types.
declare const runContext: RunContext<Context>;
declare const details: NonNullable<Parameters<typeof weather.invoke>[2]>;
declare const state: RunState<Context, Agent<Context, 'text'>>;
declare const item: RunToolApprovalItem;
runContext satisfies OpenAiAgentsRunContext<Context>;
details satisfies OpenAiAgentsCallDetails;
state satisfies OpenAiAgentsState;
item satisfies OpenAiAgentsInterruption;
await governed.takeApprovals(state);
({}) as OpenAiAgentsTool satisfies Tool<Context>;

// The host defines the type of the context.
await governTools([weather], {
  session: ({ context }: OpenAiAgentsRunContext<Context>) => context.user,
  principal: ({ runContext: { context } }) => ({ userId: context.user }),
  approver: ({ runContext: { context } }) => context.user,
});
await governTools([weather], {
  // @ts-expect-error the type of an undeclared context is unknown
  principal: ({ runContext: { context } }) => ({ userId: context.user }),
});
// @ts-expect-error tools come in a list
await governTools({ weather });
