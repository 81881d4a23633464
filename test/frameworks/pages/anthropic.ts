/** The programs of docs/adapters/anthropic.md, with the context that the page leaves out. Type-checked, never run. */
import type Anthropic from '@anthropic-ai/sdk';
import type { Tool } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import type { LoadedContracts } from 'quittance/contracts';
import { governTools } from '@quittance/anthropic';

declare const tools: readonly Tool[];
declare const ledger: OpenLedger;
declare const contracts: LoadedContracts;
declare const sessionId: string;
declare const client: Anthropic;
declare const model: string;
declare const max_tokens: number;
declare const messages: Anthropic.MessageParam[];

const governed = await governTools(tools, { ledger, contracts });
const run = governed.run({ sessionId });
for (;;) {
  const message = await client.messages.create({ model, max_tokens, messages, tools: run.tools });
  messages.push({ role: 'assistant', content: message.content });
  const results = await run.answer(message, { conversation: messages });
  if (results.length === 0) break;
  messages.push({ role: 'user', content: results });
}
