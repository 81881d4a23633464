/** `npm run replay:real`, on conversations as people record them. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'quittance-replay-real-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (...args: readonly string[]) =>
  spawnSync(
    process.execPath,
    [
      '--conditions=quittance-source',
      '--disable-warning=ExperimentalWarning',
      join(import.meta.dirname, '../bench/replay-real/index.ts'),
      ...args,
    ],
    { encoding: 'utf8' },
  );

const asked = (id: string, args: object) => ({
  role: 'assistant',
  tool_calls: [{ id, type: 'function', function: { name: 'get_weather', arguments: JSON.stringify(args) } }],
});

test('counts calls of both formats by how they ended', () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const answered = { role: 'tool', tool_call_id: 'call_0', content: '{"t":1}' };
  writeFileSync(
    join(folder, 'openai.json'),
    JSON.stringify({
      tools: [{ type: 'function', function: { name: 'get_weather', parameters } }],
      messages: [
        asked('call_0', { city: 'Paris' }),
        answered,
        asked('call_0', { city: 'Paris' }),
        answered,
        asked('call_1', { town: 1 }),
      ],
    }),
  );
  writeFileSync(
    join(folder, 'anthropic.json'),
    JSON.stringify([
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 't1', name: 'delete_user', input: { id: 1 } },
          { type: 'tool_use', id: 't2', name: 'lookup', input: {} },
          { type: 'tool_use', id: 't3', name: 'lookup', input: { n: 1 } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't2', content: 'not found', is_error: true },
          {
            type: 'tool_result',
            tool_use_id: 't3',
            content: [{ type: 'text', text: '{"error":"no"}' }],
            is_error: true,
          },
        ],
      },
    ]),
  );
  writeFileSync(join(folder, 'broken.json'), '{');
  const { stdout, status } = run(folder);
  expect(status).toBe(0);
  expect(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
    type: 'replay-real',
    complete: true,
    files: 3,
    unreadable: 1,
    conversations: 2,
    reusedIds: 1,
    calls: 6,
    unanswered: 2,
    accepted: 4,
    held: 1,
    refused: { 'validation (tool.invalid_input)': 1 },
    judged: 2,
    misjudged: 1,
  });
});

test('says what to type where there is no folder', () => {
  const { stderr, status } = run(join(folder, 'nothing'));
  expect([status, stderr]).toEqual([2, expect.stringContaining('npm run replay:real --') as string]);
});
