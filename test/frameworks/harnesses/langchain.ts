/** An agent of LangChain, with tools that are governed and the middleware that names what no tool has. */
import { createAgent, createMiddleware } from 'langchain';
import type { Harness } from '../suite/harness.ts';
import { langChainHarness } from './langchain-harness.ts';

const harness: Harness = langChainHarness('LangChain', import.meta.url, ({ governed, model, checkpointer }) =>
  createAgent({
    model,
    tools: governed.tools,
    middleware: [createMiddleware({ name: 'quittance', wrapToolCall: governed.wrapToolCall })],
    checkpointer,
  }),
);

export default harness;
