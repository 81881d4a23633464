import { rmSync } from 'node:fs';
import { createSdkMcpServer, tool as sdkTool } from '@anthropic-ai/claude-agent-sdk';
import { governTools } from '@quittance/claude-agent';
import { makeHome, runScripted } from '../harnesses/claude-agent-query.ts';
import { z } from 'zod';
import { createPlayer } from '../suite/harness.ts';
import type { Lane } from './lane.ts';

export const claudeAgent: Lane = {
  name: 'Claude Agent SDK',
  isSlow: true,
  async start(tool, given) {
    const kinds = { string: z.string(), number: z.number(), boolean: z.boolean() };
    const shape = Object.fromEntries(
      Object.entries(tool.parameters).map(([name, kind]) => [name, kinds[kind]]),
    );
    const plain = sdkTool(tool.name, 'A tool.', shape, async (args) => ({
      content: [{ type: 'text', text: JSON.stringify(await tool.run(args, undefined)) }],
    }));
    const governed = given && (await governTools([plain], { server: 'shop', ...given }));
    return async (script, sessionId) => {
      const player = createPlayer(script);
      const home = makeHome();
      const options = governed?.run({ sessionId }).options ?? {
        mcpServers: { shop: createSdkMcpServer({ name: 'shop', tools: [plain] }) },
      };
      try {
        return await runScripted(
          home,
          async () => {
            const round = await player.next([]);
            if ('text' in round) return [{ type: 'text', text: round.text }];
            return round.calls.map(({ id, name, arguments: input }) => ({
              type: 'tool_use' as const,
              id,
              name: `mcp__shop__${name}`,
              input,
            }));
          },
          { ...options, allowedTools: ['mcp__shop'], maxTurns: 1_000 },
        );
      } finally {
        rmSync(home, { recursive: true, force: true, maxRetries: 5 });
      }
    };
  },
};
