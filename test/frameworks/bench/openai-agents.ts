import { Agent, Runner } from '@openai/agents';
import { governTools } from '@quittance/openai-agents';
import { scriptedModel, toTool } from '../harnesses/openai-agents.ts';
import type { Lane } from './lane.ts';

export const openAiAgents: Lane = {
  name: 'OpenAI Agents',
  async start(tool, options) {
    const plain = [toTool(tool)];
    const tools = options === undefined ? plain : (await governTools(plain, options)).tools;
    return (script, sessionId) => {
      const agent = new Agent<unknown>({ name: 'agent', tools, model: scriptedModel(script, []) });
      return new Runner().run(agent, 'Go.', { context: { sessionId }, maxTurns: 1_000 });
    };
  },
};
