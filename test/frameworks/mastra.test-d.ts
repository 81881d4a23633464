/** The types the adapter declares, held against the real ones. */
import { Agent } from '@mastra/core/agent';
import type { ToolExecutionContext } from '@mastra/core/tools';
import { createTool } from '@mastra/core/tools';
import { tool as aiTool } from 'ai6';
import { MockLanguageModelV3 } from 'ai6/test';
import { defineTool } from 'quittance';
import type { ToolOutcome } from 'quittance';
import { governTools } from '@quittance/mastra';
import type { MastraContext, MastraTool } from '@quittance/mastra';
import { z } from 'zod';

const inputSchema = z.object({ city: z.string() });
const outputSchema = z.object({ degrees: z.number() });
const weather = createTool({
  id: 'weather',
  description: 'Looks out.',
  inputSchema,
  outputSchema,
  execute: async ({ city }) => ({ degrees: city.length }),
});
weather satisfies MastraTool;

declare const context: ToolExecutionContext;
context satisfies MastraContext;

const bare = createTool({ id: 'bare', description: 'Nothing said.', execute: async () => 1 });
const sdk = aiTool({ description: 'Of the SDK.', inputSchema, execute: ({ city }) => city.length });
const own = defineTool({ name: 'own', run: () => 1 });

const governed = await governTools(
  { weather, bare, sdk, own },
  {
    approver: ({ requestContext }) => requestContext?.get('user') as string,
    principal: ({ agent }) => ({ userId: agent?.resourceId ?? '' }),
  },
);
new Agent({
  id: 'a',
  name: 'A',
  instructions: '',
  model: new MockLanguageModelV3(),
  tools: governed.tools,
  defaultOptions: { activeTools: governed.activeTools },
});

const output = await governed.tools.weather.execute({ city: 'Ulm' }, context as never);
if (output !== undefined && !('validationErrors' in output))
  output satisfies { degrees: number } | ToolOutcome;
// @ts-expect-error it may have been denied
output satisfies { degrees: number };
// @ts-expect-error there is no such tool
void governed.tools.whether;
// @ts-expect-error a city is text
void governed.tools.weather.execute({ city: 5 }, context as never);
