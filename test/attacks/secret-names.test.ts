/** Ids and names that look like secrets: accepted, stored exactly, and masked wherever people read them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { safeId } from '../../packages/quittance/src/base/safe-id.ts';
import { runInProcess } from '../run-in-process.ts';

/** Made up here, so that no scanner mistakes this file for a leak. */
const fake = 'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0fGaB3dE5gH7jK9mN1p';
const session = `sk-${fake}`;
const other = `sk-${fake.split('').reverse().join('')}`;
const call = `ghp_${fake.slice(0, 36)}`;
const tool = `glpat-${fake.slice(0, 20)}`;
const [shownSession, shownOther, shownCall, shownTool] = [session, other, call, tool].map(safeId) as [
  string,
  string,
  string,
  string,
];

const folder = mkdtempSync(join(tmpdir(), 'quittance-names-'));
const path = join(folder, 'ledger.db');
const contracts = join(folder, 'contracts.yaml');
const cassette = join(folder, 'cassette.json');

beforeAll(async () => {
  writeFileSync(
    contracts,
    `apiVersion: edictum/v1
kind: Ruleset
metadata: { name: none }
defaults: { mode: enforce }
rules:
  - { id: no-zero, type: pre, tool: "*", when: { args.n: { equals: 0 } }, then: { action: block, message: No. } }
`,
  );
  const ledger = await openLedger(path);
  const runtime = createRuntime({
    ledger,
    tools: [
      defineTool({
        name: tool,
        mode: 'external',
        run: ({ n }: { n?: number }) => {
          if (n === 2) throw new Error('bad');
          return 'done';
        },
      }),
      defineTool({ name: 'delete_it', mode: 'destructive', run: () => 'gone' }),
    ],
    onConfirm: () => new Promise(() => {}),
  });
  for (const sessionId of [session, other]) {
    const turn = runtime.turn({ sessionId });
    await turn.call({ id: call, name: tool, arguments: { n: 1 } });
    await turn.call({ id: `${call}-2`, name: tool, arguments: { n: 2 } });
    void turn.call({ id: `${call}-3`, name: 'delete_it', arguments: {} }).catch(() => {});
  }
  for (;;) {
    const { rows } = await runtime.confirmations.list({ status: 'pending' });
    if (rows.length === 2) break;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await runtime.close();
  await ledger.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('[secrets-stay-out] an id of a session, a call or a tool that looks like a secret', () => {
  it.each<[readonly string[], RegExp]>([
    [['calls'], /REDACTED/],
    [['calls', '--session', shownSession], /REDACTED/],
    [['calls', '--session', shownSession, '--tool', shownTool], /REDACTED/],
    [['sessions'], /REDACTED/],
    [['show', shownCall, '--session', shownSession], /done/],
    [['show', shownCall, '--session', session], /done/],
    [['show', call, '--session', shownSession], /done/],
    [['show', shownCall], /2 calls/],
    [['trace', shownSession], /REDACTED/],
    [['trace', shownCall, '--session', shownSession], /REDACTED/],
    [['diff', shownSession, shownOther], /./],
    [['diff', session, other, '--all'], /./],
    [['errors', '--session', shownSession, '--tool', shownTool], /REDACTED/],
    [['pending', '--session', shownSession], /delete_it/],
    [['reconcile', '--session', shownSession], /./],
    [['handoff', '--session', shownSession, '--tool', shownTool], /./],
    [['grants', 'give', shownTool, '--session', shownSession, '--by', 'Ada'], /Granted/],
    [['grants', '--session', shownSession], /Ada/],
    [['grants'], /Ada/],
    [['export', '--session', shownSession, '--out', join(folder, 'one.jsonl')], /1 session/],
    [['cassette', 'export', shownSession, '--out', cassette], /./],
    [['cassette', 'show', cassette], /REDACTED/],
    [['backtest', '--contracts', contracts, '--session', shownSession, '--tool', shownTool], /2 calls/],
    [['contracts', 'diff', contracts, contracts, '--session', shownSession], /./],
    [['contracts', 'explain', contracts, '--call', shownCall, '--session', shownSession], /REDACTED/],
    [['approve', `${shownCall}`, '--session', shownSession, '--by', 'Ada'], /is not awaiting approval/],
    [['verify'], /./],
    [['show', 'nothing', '--session', session], /no call/],
    [['export', '--session', `${session}x`, '--out', join(folder, 'two.jsonl')], /no session/],
    [['trace', `${session}x`], /no call/],
    [['diff', `${session}x`, other], /no session/],
    [['cassette', 'export', `${session}x`, '--out', join(folder, 'x.json')], /no /],
    [['grants', 'revoke', 'grant_x', '--session', session, '--by', 'Ada'], /./],
  ])('is masked on the command line, which accepts the mask: %j', async (args, expected) => {
    const { out, err } = await runInProcess(args, { ledger: path, columns: 220, answer: () => true });
    const printed = `${out}\n${err}`;
    expect(printed).toMatch(expected);
    const isRefused = /There is no (?:session|command|option)|Cannot read/.test(printed);
    expect(isRefused && !expected.source.startsWith('no ')).toBe(false);
    expect(printed).not.toContain(fake.slice(0, 12));
    expect(printed).not.toContain(other.slice(3, 15));
  });
});
