/** `npm run replay:real`, on conversations as people record them. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { packageArguments } from './frameworks/suite/package-arguments.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-replay-real-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (...args: readonly string[]) =>
  spawnSync(
    process.execPath,
    [...packageArguments(), join(import.meta.dirname, '../bench/replay-real/index.ts'), ...args],
    { encoding: 'utf8' },
  );

const asked = (id: string, args: object) => ({
  role: 'assistant',
  tool_calls: [{ id, type: 'function', function: { name: 'get_weather', arguments: JSON.stringify(args) } }],
});

test('counts calls of both formats by outcome', () => {
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

test('says what to type without a folder', () => {
  const { stderr, status } = run(join(folder, 'nothing'));
  expect([status, stderr]).toEqual([2, expect.stringContaining('npm run replay:real --') as string]);
});

const lastLine = (stdout: string): Readonly<Record<string, unknown>> =>
  JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Readonly<Record<string, unknown>>;

test('reads items of the Responses API', () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const tools = [{ type: 'function', name: 'get_weather', parameters }];
  const made = (id: string, args: object) => ({
    type: 'function_call',
    id: `fc_${id}`,
    call_id: id,
    name: 'get_weather',
    arguments: JSON.stringify(args),
  });
  const given = (id: string) => ({ type: 'function_call_output', call_id: id, output: '{"t":1}' });
  const thought = { type: 'reasoning', id: 'rs_1', summary: [] };
  const items = join(folder, 'responses');
  mkdirSync(items);
  writeFileSync(
    join(items, 'request-and-response.json'),
    JSON.stringify({
      tools,
      input: [{ role: 'user', content: 'Weather?' }, thought, made('c1', { city: 'Paris' }), given('c1')],
      output: [made('c2', { city: 'Rome' }), thought, made('c3', { town: 'Rome' })],
    }),
  );
  writeFileSync(
    join(items, 'items.json'),
    JSON.stringify([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go.' }] },
      // The id is used again in a later message of the assistant, which makes it another call.
      made('c1', { city: 'Oslo' }),
      given('c1'),
      made('c1', { city: 'Oslo' }),
      given('c1'),
      { type: 'custom_tool_call', call_id: 'x1', name: 'look_up', input: 'free text' },
      { type: 'custom_tool_call_output', call_id: 'x1', output: 'found' },
      { type: 'mcp_call', id: 'm1', name: 'search', arguments: '{}', output: 'a page', error: null },
      {
        type: 'mcp_call',
        id: 'm2',
        name: 'search',
        arguments: '{"n":1}',
        output: null,
        error: 'Error: gone',
      },
    ]),
  );
  const { stdout, status } = run(items);
  expect(status).toBe(0);
  expect(lastLine(stdout)).toMatchObject({
    files: 2,
    unreadable: 0,
    conversations: 2,
    reusedIds: 1,
    calls: 8,
    unanswered: 2,
    accepted: 7,
    repeated: 0,
    refused: { 'validation (tool.invalid_input)': 1 },
    judged: 2,
    misjudged: 0,
  });
});

test('Ctrl-C prints the results so far', async () => {
  const many = join(folder, 'many');
  mkdirSync(many);
  const calls = 200_000;
  const messages = Array.from({ length: calls }, (_, n) => asked(`call_${n}`, { n }));
  writeFileSync(join(many, 'long.json'), JSON.stringify(messages));
  const child = spawn(
    process.execPath,
    [...packageArguments(), join(import.meta.dirname, '../bench/replay-real/index.ts'), many],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  await once(child.stderr, 'data');
  child.kill('SIGINT');
  const [code] = (await once(child, 'close')) as [number | null];
  expect(code).toBe(0);
  const { complete, calls: made } = lastLine(stdout);
  expect(complete).toBe(false);
  expect(made).toBeLessThan(calls);
  expect(stdout).toContain('held for approval');
});
