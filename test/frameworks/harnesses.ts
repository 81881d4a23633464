/** Every adapter that the behavior suite, the conformance cases and the bench are run through. */
import type { Harness } from './suite/harness.ts';

type Load = () => Promise<{ readonly default: Harness }>;

export const harnesses: readonly Load[] = [
  () => import('./harnesses/ai-sdk-7.ts'),
  () => import('./harnesses/ai-sdk-6.ts'),
  () => import('./harnesses/openai-agents.ts'),
  () => import('./harnesses/anthropic.ts'),
  () => import('./harnesses/openai-responses.ts'),
  () => import('./harnesses/openai-completions.ts'),
  () => import('./harnesses/google-genai.ts'),
  () => import('./harnesses/google-genai-automatic.ts'),
  () => import('./harnesses/google-adk.ts'),
  () => import('./harnesses/ag-ui.ts'),
  () => import('./harnesses/govern.ts'),
  () => import('./harnesses/langchain.ts'),
  () => import('./harnesses/langgraph.ts'),
  () => import('./harnesses/mastra.ts'),
  () => import('./harnesses/claude-agent.ts'),
];

export const loadHarnesses = async (): Promise<readonly Harness[]> =>
  (await Promise.all(harnesses.map((load) => load()))).map((loaded) => loaded.default);
