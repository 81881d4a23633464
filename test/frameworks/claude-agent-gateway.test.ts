/** The MCP client of the Claude Agent SDK in front of the gateway. */
import type { Options } from '@anthropic-ai/claude-agent-sdk';
import { openLedger } from 'quittance/ledger';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { endOrphans, makeHome, runScripted } from './harnesses/claude-agent-query.ts';
import { notesServer } from './harnesses/mcp-notes.ts';
import { findCalls } from '../../packages/quittance/src/ledger/reads.ts';

afterAll(endOrphans);

test('the Claude Agent SDK calls tools through the gateway, and each call is recorded under its own id', async () => {
  const { command, args, ledger: path, effects } = notesServer('gateway');
  const calls = ['get_meta', 'find_note', 'note_down'].map((name, index) => ({
    type: 'tool_use' as const,
    id: `toolu_${index}`,
    name: `mcp__notes__${name}`,
    input: {},
  }));
  let round = 0;
  const told: unknown[] = [];
  const options: Options = {
    mcpServers: { notes: { type: 'stdio', command, args } },
    allowedTools: ['mcp__notes'],
    permissionMode: 'default',
    strictMcpConfig: true,
  };
  const result = await runScripted(
    makeHome(),
    async ({ messages }) => {
      told.splice(0, told.length, ...messages.flatMap(({ content }) => content));
      const next = calls[round++];
      return next === undefined ? [{ type: 'text', text: 'Done.' }] : [next];
    },
    options,
  );
  expect(result?.subtype).toBe('success');
  // What the client sends with a call. The gateway passes it on, and takes its id from it.
  expect(JSON.stringify(told)).toContain(String.raw`\"claudecode/toolUseId\":\"toolu_0\"`);
  expect(told).toContainEqual(
    expect.objectContaining({ tool_use_id: 'toolu_1', is_error: true, content: 'No such note.' }),
  );
  const ledger = await openLedger(path);
  onTestFinished(() => ledger.close());
  const { rows } = await findCalls(ledger, { limit: 10 });
  expect(rows.map(({ callId, toolName, code }) => [callId, toolName, code])).toEqual([
    ['toolu_2', 'note_down', undefined],
    ['toolu_1', 'find_note', 'tool.reported_error'],
    ['toolu_0', 'get_meta', undefined],
  ]);
  expect(effects()).toEqual(['noted']);
});
