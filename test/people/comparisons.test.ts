/** What people see of a held call without a preview: a comparison with the last call on the same resource. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AnyTool, Runtime } from 'quittance';
import type { ConfirmationView } from 'quittance/runtime';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool } from 'quittance';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startServer } from '../http/start-server.ts';
import { runInProcess } from '../run-in-process.ts';
import { envelope, quiet } from '../stage.ts';
import { question } from './question.ts';
import type { ToolCallView } from '../../packages/quittance/src/view/tool-call-view.ts';
import { findToolCall, noToolCalls, reduceToolCalls } from '../../packages/quittance/src/view/tool-calls.ts';
import { alterLedger } from '../alter-ledger.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-comparisons-'));
  folders.push(folder);
  return folder;
}

const saved = z.object({ path: z.string() }).loose();
const save = (more: Partial<AnyTool> = {}): AnyTool =>
  defineTool({
    name: 'save_page',
    mode: 'safe_write',
    input: saved,
    resourceKeys: ({ path }) => [path],
    run: ({ path }) => ({ saved: path }),
    ...more,
  } as Parameters<typeof defineTool>[0]);

type Given = { readonly path: string; readonly [name: string]: unknown };

/** Makes calls that run, then one that is held, and returns its question. */
async function ask(
  runtime: (held: boolean) => Runtime,
  earlier: readonly Given[],
  held: Given,
): Promise<ConfirmationView> {
  for (const [n, args] of earlier.entries())
    await runtime(false)
      .turn({ sessionId: 's' })
      .call(envelope(`c${n}`, 'save_page', args));
  const holding = runtime(true);
  void holding.turn({ sessionId: 's' }).call(envelope('held', 'save_page', held));
  return question(holding, 'held');
}

const on =
  (ledger: OpenLedger, tool: AnyTool = save()) =>
  (held: boolean): Runtime =>
    createRuntime({ ledger, tools: [tool], treatments: { safe_write: held ? 'ask' : 'run' } });

describe('a held call without a preview', () => {
  it('is compared with the last call that succeeded on the same resource', async () => {
    const { comparison, previewSource, preview } = await ask(
      on(createMemoryLedger()),
      [
        { path: 'a', title: 'Old', body: { text: 'one', tags: ['x'] }, gone: 1 },
        { path: 'b', title: 'Other' },
      ],
      { path: 'a', title: 'New', body: { text: 'two', tags: ['x', 'y'] } },
    );
    expect([previewSource, preview]).toEqual(['comparison', undefined]);
    expect(comparison).toMatchObject({ callId: 'c0', more: 0 });
    expect(comparison?.fields).toEqual([
      { name: '$.title', before: 'Old', after: 'New' },
      { name: '$.body.text', before: 'one', after: 'two' },
      { name: '$.body.tags', before: ['x'], after: ['x', 'y'] },
      { name: '$.gone', before: 1 },
    ]);
  });

  it('says so if the arguments are equal', async () => {
    const args = { path: 'a', title: 'Same' };
    const { comparison } = await ask(on(createMemoryLedger()), [args], args);
    expect(comparison).toMatchObject({ callId: 'c0', fields: [], more: 0 });
  });

  it.each([
    ['no earlier call', [], save()],
    ['another resource', [{ path: 'b' }], save()],
    ['a tool that does not say what it touches', [{ path: 'a' }], save({ resourceKeys: undefined })],
    [
      'a call that failed',
      [{ path: 'a' }],
      save({
        run: () => {
          throw new Error('It broke.');
        },
      }),
    ],
  ])('says that there is nothing to compare: %s', async (_title, earlier, tool) => {
    const view = await ask(on(createMemoryLedger(), tool), earlier, { path: 'a' });
    expect([view.previewSource, view.comparison, view.preview]).toEqual(['none', undefined, undefined]);
  });

  it('shows the tool’s preview if there is one', async () => {
    const tool = save({ preview: () => ({ kind: 'text', text: 'Saves it.' }) });
    const view = await ask(on(createMemoryLedger(), tool), [{ path: 'a' }], { path: 'a', title: 'New' });
    expect([view.previewSource, view.comparison]).toEqual(['tool', undefined]);
  });

  it('shows the part in which long texts differ, and a limited number of differences', async () => {
    const long = (middle: string): string => 'x'.repeat(5_000) + middle + 'y'.repeat(5_000);
    const many = (value: number): object =>
      Object.fromEntries(Array.from({ length: 80 }, (_, n) => [`k${n}`, value]));
    const { comparison } = await ask(
      on(createMemoryLedger()),
      [{ path: 'a', body: long('before'), ...many(1) }],
      { path: 'a', body: long('after'), ...many(2) },
    );
    expect(comparison).toMatchObject({ more: 31 });
    expect(comparison?.fields).toHaveLength(50);
    const [body] = comparison?.fields ?? [];
    expect(body).toMatchObject({
      before: `…${'x'.repeat(60)}before${'y'.repeat(60)}…`,
      after: `…${'x'.repeat(60)}after${'y'.repeat(60)}…`,
    });
  });

  it('reads at most ten calls', async () => {
    const memory = createMemoryLedger();
    let reads = 0;
    const counting = alterLedger(memory, {
      readCall: (...args) => {
        reads++;
        return memory.readCall(...args);
      },
    });
    const earlier = Array.from({ length: 40 }, (_, n) => ({ path: `other-${n}` }));
    for (const [n, args] of earlier.entries())
      await on(memory)(false)
        .turn({ sessionId: 's' })
        .call(envelope(`c${n}`, 'save_page', args));
    const runtime = on(counting)(true);
    void runtime.turn({ sessionId: 's' }).call(envelope('held', 'save_page', { path: 'a' }));
    await quiet();
    expect(reads).toBeLessThanOrEqual(12);
  });
});

describe('a safe write that runs without a question', () => {
  const run = async (tool: AnyTool, ...given: readonly Given[]): Promise<ToolCallView['comparison']> => {
    const runtime = createRuntime({ tools: [tool] });
    const turn = runtime.turn({ sessionId: 's' });
    for (const [n, args] of given.entries()) await turn.call(envelope(`c${n}`, tool.name, args));
    const calls = reduceToolCalls(noToolCalls, await runtime.events.list({ sessionId: 's' }));
    return findToolCall(calls, `c${given.length - 1}`, 's')?.comparison;
  };

  it('is compared with the last call on the same resource too', async () => {
    const shown = await run(save(), { path: 'a', title: 'Old' }, { path: 'b' }, { path: 'a', title: 'New' });
    expect(shown).toMatchObject({
      callId: 'c0',
      fields: [{ name: '$.title', before: 'Old', after: 'New' }],
      more: 0,
    });
  });

  let keys = 0;
  it.each<[string, AnyTool, ToolCallView['comparison']]>([
    ['another resource', save({ resourceKeys: () => [String(keys++)] }), 'none'],
    ['a tool that does not say what it touches', save({ resourceKeys: undefined }), 'none'],
    ['a tool with a preview', save({ preview: () => ({ kind: 'text', text: 'Saves it.' }) }), undefined],
    ['a read', save({ mode: 'read' }), undefined],
  ])('says that there is nothing to compare, or has no need to: %s', async (_, tool, expected) => {
    expect(await run(tool, { path: 'a' }, { path: 'a', title: 'New' })).toBe(expected);
  });

  it('is shown with its comparison on the command line', async () => {
    const path = join(newFolder(), 'ledger.db');
    const ledger = await openLedger(path);
    for (const [id, title] of ['Old', 'New'].entries())
      await on(ledger)(false)
        .turn({ sessionId: 's' })
        .call(envelope(`c${id}`, 'save_page', { path: 'a', title }));
    const page = await runInProcess(['show', 'c1'], { ledger: path, columns: 100 });
    expect(page.out).toContain('Compared with call c0');
    expect(page.out).toContain('$.title: "Old" → "New"');
    const first = await runInProcess(['show', 'c0'], { ledger: path, columns: 100 });
    expect(first.out).toMatch(/No preview\n +The tool has no preview/);
    await ledger.close();
  });
});

it('[secrets-stay-out] values hidden in either call stay hidden, and may differ', async () => {
  const folder = newFolder();
  const ledger = await openLedger(join(folder, 'ledger.db'));
  const secrets = ['tr0ub4dor-one', 'tr0ub4dor-two'];
  const view = await ask(
    on(ledger),
    [{ path: 'a', password: secrets[0], note: 'old' }],
    // The second call echoes the secret of its own input in plain text.
    { path: 'a', password: secrets[1], note: `see ${secrets[1]}` },
  );
  expect(view.comparison?.fields).toEqual([
    { name: '$.password', before: '[REDACTED]', after: '[REDACTED]' },
    { name: '$.note', before: 'old', after: 'see [REDACTED]' },
  ]);
  await ledger.close();
  const bytes = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
  for (const secret of secrets) expect(bytes).not.toContain(secret);
});

describe('people see the comparison', () => {
  it('people see the comparison on the command line, and a message if there is none', async () => {
    const path = join(newFolder(), 'ledger.db');
    const ledger = await openLedger(path);
    const runtimes = on(ledger);
    const view = await ask(runtimes, [{ path: 'a', title: 'Old' }], { path: 'a', title: 'New' });
    void runtimes(true)
      .turn({ sessionId: 's' })
      .call(envelope('alone', 'save_page', { path: 'z' }));
    await question(runtimes(true), 'alone');
    const shown = async (id: string): Promise<string> => {
      const answer = (): boolean => false;
      return (await runInProcess(['approve', id, '--by', 'Ada'], { ledger: path, columns: 100, answer })).out;
    };
    const page = await shown('held');
    expect(page).toContain('Compared with call c0');
    expect(page).toContain('$.title: "Old" → "New"');
    expect(await shown('alone')).toMatch(/No preview\n +The tool has no preview/);
    const { out } = await runInProcess(['pending', '--json'], { ledger: path });
    const lines = out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const line = lines.find((each) => each['confirmationId'] === view.confirmationId);
    expect(line).toMatchObject({
      previewSource: 'comparison',
      comparison: { callId: 'c0', fields: [{ name: '$.title', before: 'Old', after: 'New' }], more: 0 },
    });
    await ledger.close();
  });

  it('people see the comparison over HTTP', async () => {
    const started = await startServer();
    const view = await ask(on(started.ledger), [{ path: 'a', title: 'Old' }], { path: 'a', title: 'New' });
    const { body } = await started.get<ConfirmationView>(`/v1/confirmations/${view.confirmationId}`);
    expect(body).toMatchObject({
      previewSource: 'comparison',
      comparison: { callId: 'c0', fields: [{ name: '$.title', before: 'Old', after: 'New' }], more: 0 },
    });
    const { body: events } = await started.get<string>('/v1/sessions/s/calls/held');
    expect(JSON.stringify(events)).toContain('"comparison"');
    await started.close();
  });
});
