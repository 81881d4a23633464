/** The three questions of `quittance init` and their answers. A test compares the versions with the tested ones. */

/** Package names with the range that the project asks for. */
type Packages = Readonly<Record<string, string>>;

export type Choice = { readonly label: string; readonly packages: Packages };
type Framework =
  | 'none'
  | 'ai-sdk'
  | 'openai-agents'
  | 'langchain'
  | 'claude-agent'
  | 'mastra'
  | 'google-adk'
  | 'anthropic'
  | 'openai'
  | 'google-genai';
type Store = 'sqlite' | 'postgres';
type Rules = 'ask' | 'block' | 'observe';
type Choices<Name extends string> = Readonly<Record<Name, Choice>>;

const zod = { zod: '^4.6.7' } as const;

export const frameworkChoices: Choices<Framework> = {
  none: { label: 'your own loop', packages: zod },
  'ai-sdk': { label: 'Vercel AI SDK', packages: { ai: '^7.0.169', ...zod } },
  'openai-agents': { label: 'OpenAI Agents JS', packages: { '@openai/agents': '^0.20.0', ...zod } },
  langchain: {
    label: 'LangChain or LangGraph',
    packages: {
      '@langchain/core': '^1.2.13',
      '@langchain/langgraph': '^1.4.18',
      langchain: '^1.5.14',
      ...zod,
    },
  },
  'claude-agent': {
    label: 'Claude Agent SDK',
    packages: { '@anthropic-ai/claude-agent-sdk': '^0.3.325', ...zod },
  },
  mastra: { label: 'Mastra', packages: { '@mastra/core': '^1.71.0', ...zod } },
  'google-adk': {
    label: 'Google ADK',
    packages: { '@google/adk': '^2.0.0', '@google/genai': '^2.32.0', ...zod },
  },
  anthropic: { label: 'Anthropic SDK', packages: { '@anthropic-ai/sdk': '^1.8.0' } },
  openai: { label: 'OpenAI SDK', packages: { openai: '^7.53.0' } },
  'google-genai': { label: 'Google GenAI SDK', packages: { '@google/genai': '^2.32.0' } },
};

export const storeChoices: Choices<Store> = {
  sqlite: { label: 'a file, for one machine', packages: {} },
  postgres: { label: 'PostgreSQL, for many machines', packages: { pg: '^8.23.1' } },
};

export const ruleChoices: Choices<Rules> = {
  ask: { label: 'a person approves large refunds', packages: {} },
  block: { label: 'large refunds are blocked', packages: {} },
  observe: { label: 'nothing is stopped, matches are recorded', packages: {} },
};

export const developmentPackages: Packages = { '@types/node': '^24.19.2', typescript: '^6.0.3' };

export type ProjectChoices = {
  readonly framework: Framework;
  readonly store: Store;
  readonly rules: Rules;
};
