/** The types the adapter declares, held against the real ones. */
import type { UIMessage } from 'ai';
import { convertToModelMessages, generateText, streamText, tool, ToolLoopAgent } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { generateText as generateText6, tool as tool6 } from 'ai6';
import { MockLanguageModelV3 } from 'ai6/test';
import type { ToolOutcome } from 'quittance';
import { governTools, isToolOutcome, toErrorText } from '@quittance/ai-sdk';
import { z } from 'zod';

const inputSchema = z.object({ city: z.string() });
const execute = ({ city }: { city: string }) => ({ city, degrees: 20 });

const governed = await governTools({ weather: tool({ inputSchema, execute }) });
const run = governed.run({ sessionId: 's' });
const model = new MockLanguageModelV4();
const { toolResults } = await generateText({
  model,
  tools: run.tools,
  toolApproval: run.toolApproval,
  prompt: '',
});
streamText({ model, tools: run.tools, prompt: '' });
new ToolLoopAgent({ model, tools: run.tools });
const [result] = toolResults;
if (result !== undefined && result.dynamic !== true) {
  result.output satisfies { city: string; degrees: number } | ToolOutcome;
  // @ts-expect-error it may be a reference to an output too long to show
  result.output satisfies { city: string; degrees: number };
  if (isToolOutcome(result.output)) result.output satisfies ToolOutcome;
  else result.output satisfies { city: string; degrees: number };
}
streamText({ model, tools: run.tools, prompt: '' }).toUIMessageStreamResponse({ onError: toErrorText });
declare const page: UIMessage[];
await run.takeApprovals(page);
await run.takeApprovals(await convertToModelMessages(page, { tools: run.tools }));

const governed6 = await governTools({ weather: tool6({ inputSchema, execute }) });
const run6 = governed6.run({ sessionId: 's' });
const { toolResults: results6 } = await generateText6({
  model: new MockLanguageModelV3(),
  tools: run6.tools,
  prompt: '',
});
const [result6] = results6;
if (result6 !== undefined && result6.dynamic !== true)
  result6.output satisfies { city: string; degrees: number } | ToolOutcome;

// @ts-expect-error a run belongs to a session
governed.run({});
