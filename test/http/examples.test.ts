import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ConfirmationPage } from '@quittance/server';
import { makeFileToken } from '../make-token.ts';
import { startCli } from '../run-cli.ts';
import { root } from '../sources.ts';

let folder: string;
let serving: ChildProcessWithoutNullStreams;
let url: string;
let admin: string;
let operator: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-serve-'));
  const ledger = join(folder, 'shop', 'ledger.db');
  const examples = join(root, 'examples/http');
  operator = makeFileToken(ledger, 'operator', 'shop-agent');
  const env = { QUITTANCE_TOKEN: makeFileToken(ledger) };
  serving = startCli(
    [
      'serve',
      '--ledger',
      ledger,
      '--port',
      '0',
      '--json',
      '--name',
      'Ada',
      '--tools',
      join(examples, 'tools.json'),
      '--contracts',
      join(examples, 'rules.yaml'),
    ],
    { env },
  );
  const [line] = (await once(serving.stdout.setEncoding('utf8'), 'data')) as [string];
  ({ url, token: admin } = JSON.parse(line) as { url: string; token: string });
});
afterAll(async () => {
  serving.kill('SIGINT');
  await once(serving, 'close');
  rmSync(folder, { recursive: true, force: true });
});

const run = async (
  command: string,
  args: readonly string[],
): Promise<{ code: number; out: string; err: string }> => {
  const child = spawn(command, args, {
    env: { ...process.env, QUITTANCE_URL: url, QUITTANCE_TOKEN: operator },
  });
  child.stdin.end();
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number]>,
  ]);
  return { code, out, err };
};

/** Approves the first open question, like a person at another screen. */
async function approveNext(): Promise<string> {
  const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' };
  for (;;) {
    const page = (await (
      await fetch(`${url}/v1/confirmations?status=pending`, { headers })
    ).json()) as ConfirmationPage;
    const [held] = page.rows;
    if (held === undefined) {
      await sleep(20);
      continue;
    }
    await fetch(`${url}/v1/confirmations/${held.confirmationId}/decision`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ decision: 'approve', inputDigest: held.inputDigest }),
    });
    return held.description;
  }
}

test('the shell example pays once, is denied what the rules forbid, and waits for a person', async () => {
  const script = join(root, 'examples/http/refund.sh');
  const paid = await run(script, ['c1', 'A7', '500']);
  expect(paid).toMatchObject({ code: 0, err: 'paying 500 cents back for order A7\n' });
  const again = await run(script, ['c1', 'A7', '500']);
  expect(again).toMatchObject({ code: 0, err: '' });
  expect(again.out).toContain('"paid":500');
  const denied = await run(script, ['c2', 'A7', '500000']);
  expect(denied.out).toContain('500000 cents is more than any order costs.');
  const held = run(script, ['c3', 'A7', '4200']);
  expect(await approveNext()).toContain('Refund 4200 cents for order A7?');
  expect(await held).toMatchObject({ code: 0, err: 'paying 4200 cents back for order A7\n' });
});

test('the Python example governs its tools with the standard library alone', async () => {
  const running = run('python3', [join(root, 'examples/http/quittance.py')]);
  expect(await approveNext()).toContain('Refund 4200 cents for order A7?');
  const { code, out, err } = await running;
  expect([code, err]).toEqual([0, '']);
  expect(out.trim().split('\n')).toEqual([
    'p1 {"order":"A7","cents":4200}',
    'paying 500 cents back for order A7',
    'p2 {"order":"A7","paid":500}',
    'p2 {"order":"A7","paid":500}',
    expect.stringContaining('p3 {"error":"Blocked: 5000000 cents is more than any order costs.'),
    'paying 4200 cents back for order A7',
    'p4 {"order":"A7","paid":4200}',
  ]);
});
