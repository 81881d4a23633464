/** The types of the adapter for the Google GenAI SDK against those of the real package. */
import type { CallableTool, Content, GenerateContentResponse, Part, ToolListUnion } from '@google/genai';
import type { GenAiCallable } from '@quittance/google-genai';
import { governTools as governGenAi } from '@quittance/google-genai';

declare const mcp: CallableTool;
mcp satisfies GenAiCallable;
const genAi = await governGenAi(
  { add: ({ a, b }: { a: number; b: number }) => a + b },
  { callableTools: [mcp] },
);
// @ts-expect-error: calls without ids are identified by the conversation
genAi.run({ sessionId: 's' });
const conversation: Content[] = [];
const run = genAi.run({ sessionId: 's', conversation });
run.tools satisfies ToolListUnion;
run.callableTool() satisfies CallableTool;
declare const response: GenerateContentResponse;
(await run.answer(response)) satisfies Part[];
(await run.answer([response])) satisfies Part[];
(await run.answerOrPending(response)).results satisfies Part[];
