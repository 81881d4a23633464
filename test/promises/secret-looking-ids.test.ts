/** Ids that look like secrets work like any other, and are not shown to people. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestServer } from '../http/start-server.ts';
import { startServer } from '../http/start-server.ts';
import { runCli } from '../run-cli.ts';

const letters = 'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0fG';
const fake = (length: number): string => letters.repeat(4).slice(0, length);

const ids = {
  'OpenAI chat completions': `call_${fake(24)}`,
  'OpenAI responses': `fc_${'0123456789abcdef'.repeat(3)}`,
  Anthropic: `toolu_01${fake(22)}`,
  Bedrock: `tooluse_${fake(22)}`,
  Mistral: fake(9),
  LangChain: '0f8fad5b-d9cb-469f-a165-70867728950e',
  'the AI SDK': `aitxt-${fake(24)}`,
  MCP: '17',
  'an OpenAI key': `sk-${fake(48)}`,
  'an Anthropic key': `sk-ant-api03-${fake(60)}`,
  'a GitHub token': `ghp_${fake(36)}`,
  'a card number': '4111111111111111',
  'an assignment': `job password=${fake(12)}`,
};

describe('[secrets-stay-out] a call whose id looks like a secret', () => {
  it.each(Object.entries(ids))('is held, approved, settled and recalled: %s', async (_, id) => {
    let ran = 0;
    const runtime = createRuntime({
      tools: [defineTool({ name: 'delete_it', run: () => ++ran })],
      onConfirm: () => ({ decision: 'approve', by: 'ada' }),
    });
    const turn = runtime.turn({ sessionId: `${id}-session`, turnId: `${id}-turn` });
    const call = { id, name: 'delete_it', arguments: { password: 'correcthorse', note: 'correcthorse' } };
    const outcome = await turn.call(call);
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', callId: id, output: 1 });
    expect(await turn.call(call)).toEqual(outcome);
    expect(ran).toBe(1);
    const conflict = await turn.call({ ...call, arguments: {} });
    expect(conflict).toMatchObject({ type: 'ToolDenied', code: 'call.conflict' });
    await runtime.close();
  });

  it('[secrets-stay-out] is found by the id that the command line shows, and verified', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quittance-ids-'));
    try {
      const path = join(folder, 'ledger.db');
      const ledger = await openLedger(path);
      const runtime = createRuntime({ ledger, tools: [defineTool({ name: 'read_it', run: () => 'done' })] });
      const id = ids['an OpenAI key'];
      await runtime.turn({ sessionId: id }).call({ id, name: 'read_it', arguments: {} });
      await runtime.close();
      await ledger.close();
      const calls = await runCli(['calls', '--ledger', path]);
      const shown = /\[REDACTED\]~[0-9a-f]{6}/.exec(calls.out)?.[0] ?? '';
      expect(shown).not.toBe('');
      const page = await runCli(['show', shown, '--session', shown, '--ledger', path]);
      expect(page).toMatchObject({ code: 0 });
      const missing = await runCli(['show', `sk-x${fake(47)}`, '--ledger', path]);
      expect(missing.code).not.toBe(0);
      for (const { out, err } of [calls, page, missing]) expect(`${out}${err}`).not.toContain(fake(20));
      expect(await runCli(['verify', '--ledger', path])).toMatchObject({ code: 0 });
      for (const option of ['--calls', '--until'])
        expect(
          await runCli(['cassette', 'export', shown, option, shown, '--out', '-', '--ledger', path]),
        ).toMatchObject({ code: 0, out: expect.stringContaining('"calls"') as string });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('[secrets-stay-out] over HTTP, such a call', () => {
  let app: TestServer;
  beforeAll(async () => {
    app = await startServer();
  });
  afterAll(() => app.close());

  it('[secrets-stay-out] is made, decided and read like any other', async () => {
    const id = ids['a GitHub token'];
    const held = await app.ask<{ decision: string; confirmationId: string; inputDigest: string }>(
      id,
      'delete_file',
      { path: '/tmp/x', password: 'correcthorse', note: 'correcthorse' },
    );
    expect(held.body.decision).toBe('held');
    const { confirmationId, inputDigest } = held.body;
    const decision = { decision: 'approve', inputDigest };
    const decided = await app.post(`/v1/confirmations/${confirmationId}/decision`, decision, 'approver');
    expect(decided.status).toBe(200);
    const read = await app.get<object>(`/v1/sessions/s1/calls/${encodeURIComponent(id)}`);
    expect(read.status).toBe(200);
    expect(JSON.stringify(read.body)).not.toContain('correcthorse');
  });
});
