/** The programs of docs/adapters/ai-sdk.md, with the context that the page leaves out. Type-checked, never run. */
import type { LanguageModel, ModelMessage, ToolSet } from 'ai';
import { generateText, streamText } from 'ai';
import type { OpenLedger } from 'quittance/store';
import type { LoadedContracts } from 'quittance/contracts';
import { governTools, toErrorText } from '@quittance/ai-sdk';

declare const tools: ToolSet;
declare const ledger: OpenLedger;
declare const contracts: LoadedContracts;
declare const model: LanguageModel;
declare const prompt: string;
declare const chatId: string;
declare const messages: ModelMessage[];
declare const user: { readonly name: string };

const governed = await governTools(tools, { ledger, contracts });
const { text } = await generateText({
  model,
  prompt,
  tools: governed.run({ sessionId: chatId }).tools,
});
export { text };

export function toResponse(): Response {
  const result = streamText({ model, prompt, tools: governed.run({ sessionId: chatId }).tools });
  return result.toUIMessageStreamResponse({ onError: toErrorText });
}

export async function approve(): Promise<void> {
  const run = governed.run({ sessionId: chatId, approver: user.name });
  await run.takeApprovals(messages); // model messages or UI messages, with denials
  await generateText({ model, messages, tools: run.tools, toolApproval: run.toolApproval });
}
