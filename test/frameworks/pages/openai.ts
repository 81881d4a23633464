/** The programs of docs/adapters/openai.md, with the context that the page leaves out. Type-checked, never run. */
import type OpenAI from 'openai';
import type { ResponseInput } from 'openai/resources/responses/responses';
import type { Tool } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import type { LoadedContracts } from 'quittance/contracts';
import { governTools } from '@quittance/openai';

declare const tools: readonly Tool[];
declare const ledger: OpenLedger;
declare const contracts: LoadedContracts;
declare const sessionId: string;
declare const client: OpenAI;
declare const model: string;
declare const input: ResponseInput;

const governed = await governTools(tools, { ledger, contracts });
const run = governed.run({ sessionId });
for (;;) {
  const response = await client.responses.create({ model, input, tools: run.responseTools });
  const outputs = await run.answerResponse(response, { conversation: input });
  if (outputs.length === 0) break;
  input.push(...(response.output as ResponseInput), ...outputs);
}
