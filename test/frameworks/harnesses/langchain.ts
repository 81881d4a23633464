/** An agent of LangChain, with governed tools and the middleware that names missing ones. */
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
