/** Every framework that the bench of adapters measures. */
import { aiSdk6, aiSdk7 } from './ai-sdk.ts';
import { claudeAgent } from './claude-agent.ts';
import type { Lane } from './lane.ts';
import { langChain, langGraph } from './langchain.ts';
import { mastra } from './mastra.ts';
import { openAiAgents } from './openai-agents.ts';
import { anthropic, anyFunction, openAi } from './plain-loops.ts';

export const lanes: readonly Lane[] = [
  aiSdk7,
  aiSdk6,
  openAiAgents,
  langChain,
  langGraph,
  mastra,
  claudeAgent,
  anthropic,
  openAi,
  anyFunction,
];
