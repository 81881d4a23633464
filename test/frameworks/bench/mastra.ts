import { Mastra } from '@mastra/core';
import { Agent } from '@mastra/core/agent';
import { InMemoryStore } from '@mastra/core/storage';
import { governTools } from '@quittance/mastra';
import { scriptedModel } from '../harnesses/mastra-model.ts';
import { toTool } from '../harnesses/mastra.ts';
import type { Lane } from './lane.ts';

export const mastra: Lane = {
  name: 'Mastra',
  async start(tool, options) {
    const plain = { [tool.name]: toTool(tool) };
    const tools = options === undefined ? plain : (await governTools(plain, options)).tools;
    return async (script, sessionId) => {
      const clerk = new Agent({
        id: 'clerk',
        name: 'Clerk',
        instructions: 'Do it.',
        model: scriptedModel(script, []) as never,
        tools,
        defaultOptions: { maxSteps: 1_000 },
      });
      const app = new Mastra({ agents: { clerk }, storage: new InMemoryStore(), logger: false });
      const memory = { thread: sessionId, resource: 'ada' };
      return app.getAgent('clerk').generate('Go.', { memory });
    };
  },
};
