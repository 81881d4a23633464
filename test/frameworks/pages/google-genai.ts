/** The programs of docs/adapters/google-genai.md, with the context that the page leaves out. Type-checked, never run. */
import type { Chat, Content, GoogleGenAI } from '@google/genai';
import type { Tool } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import type { LoadedContracts } from 'quittance/contracts';
import { governTools } from '@quittance/google-genai';

declare const tools: readonly Tool[];
declare const ledger: OpenLedger;
declare const contracts: LoadedContracts;
declare const sessionId: string;
declare const ai: GoogleGenAI;
declare const model: string;
declare const contents: Content[];
declare const chat: Chat;
declare const message: string;
declare const signal: AbortSignal;

const governed = await governTools(tools, { ledger, contracts });
const run = governed.run({ sessionId, conversation: contents });
for (;;) {
  const response = await ai.models.generateContent({ model, contents, config: { tools: run.tools } });
  const parts = await run.answer(response);
  const content = response.candidates?.[0]?.content;
  if (content === undefined || parts.length === 0) break;
  contents.push(content, { role: 'user', parts });
}

export async function callAutomatically(): Promise<void> {
  const run = governed.run({ sessionId, conversation: chat.getHistory() });
  await chat.sendMessage({ message, config: { tools: [run.callableTool({ signal })] } });
}
