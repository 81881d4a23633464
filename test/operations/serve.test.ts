/** The server as a service: configuration, log, readiness and an orderly stop. A real process. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { makeFileToken } from '../make-token.ts';
import { startCli } from '../run-cli.ts';
import { runProgramHere } from '../run-program.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-serve-'));
const children: ChildProcessWithoutNullStreams[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Line = {
  readonly level: string;
  readonly event: string;
  readonly message: string;
  readonly url?: string;
};
type Service = {
  readonly child: ChildProcessWithoutNullStreams;
  readonly lines: Line[];
  readonly out: () => string;
  readonly url: string;
};

const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
};

async function start(config: string, env: Readonly<Record<string, string>> = {}): Promise<Service> {
  const child = startCli(['serve', '--config', config], { cwd: folder, env });
  children.push(child);
  const lines: Line[] = [];
  let out = '';
  child.stdout.on('data', (data: Buffer) => (out += data.toString()));
  createInterface(child.stderr).on('line', (line) => lines.push(JSON.parse(line) as Line));
  const ready = await eventually(() => {
    const found = lines.find(({ event }) => event === 'server.ready');
    if (found?.url === undefined) throw new Error('The server is not ready yet.');
    return found.url;
  });
  return { child, lines, out: () => out, url: ready };
}

const runtime = join(import.meta.dirname, 'service-runtime.ts');

const token = (ledger: string): string => makeFileToken(ledger, 'admin', 'bot');

const ask = (url: string, bearer: string, id: string, name: string, args: object): Promise<Response> =>
  fetch(`${url}/v1/calls`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify({ sessionId: 's', call: { id, name, arguments: args }, waitMs: 0 }),
  });

describe('quittance serve as a service', () => {
  test('logs JSON without secrets, is ready, and on SIGTERM is not ready first and ends what runs', async () => {
    const config = file(
      'one.yaml',
      `ledger: one.db\nport: 0\nruntime: ${runtime}\nlog: json\nlog_level: debug\ndrain_delay: 2s\nstop_timeout: 60s\n`,
    );
    const { child, lines, out, url } = await start(config, {
      QUITTANCE_STOP_TIMEOUT: '',
      QUITTANCE_PUBLC_URL: 'https://x.test',
      // Not near enough to any setting.
      QUITTANCE_SLACK_ADDRESS: 'https://y.test',
      QUITTANCE_CHECK: 'yes',
    });
    const bearer = token(join(folder, 'one.db'));
    expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({ status: 'ready' });
    expect((await ask(url, bearer, 'held', 'delete_all', {})).status).toBeLessThan(300);
    expect((await ask(url, bearer, 'slow', 'slow', { ms: 3_000 })).status).toBeLessThan(300);
    child.kill('SIGTERM');
    const readiness = await eventually(async () => {
      const response = await fetch(`${url}/readyz`);
      expect(response.status).toBe(503);
      return (await response.json()) as { checks: { name: string; ok: boolean; detail?: string }[] };
    });
    expect(readiness.checks.find(({ ok }) => !ok)).toMatchObject({ name: 'serving' });
    // While it drains it still serves.
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect(await once(child, 'close')).toEqual([143, null]);
    expect(lines.filter(({ event }) => event === 'settings.unknown')).toMatchObject([
      { level: 'warn', message: expect.stringContaining('Did you mean QUITTANCE_PUBLIC_URL?') as string },
    ]);
    expect(lines.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['http.request', 'server.stopping', 'server.stopped']),
    );
    expect(out()).toBe('');
    expect(JSON.stringify(lines)).not.toContain(bearer);
    const calls = await runProgramHere(['calls', '--json', '--ledger', join(folder, 'one.db')]);
    expect(calls.out).toMatch(/"callId":"slow".*"status":"settled"/);
    expect(calls.out).toMatch(/"callId":"held".*"status":"held"/);
  });

  test('[one-outcome] does not wait for ever: a call that still runs is recovered by the next process', async () => {
    const config = file(
      'two.yaml',
      `ledger: two.db\nport: 0\nruntime: ${runtime}\nlog: json\nstop_timeout: 1s\n`,
    );
    const first = await start(config);
    const bearer = token(join(folder, 'two.db'));
    await ask(first.url, bearer, 'slow', 'slow', { ms: 600_000 });
    first.child.kill('SIGTERM');
    expect(await once(first.child, 'close')).toEqual([143, null]);
    expect(first.lines.map(({ event }) => event)).toContain('server.stop_timeout');
    const second = await start(config);
    const seen = await eventually(async () => {
      const again = await ask(second.url, bearer, 'slow', 'slow', { ms: 600_000 });
      const text = await again.text();
      expect(text).toContain('tool.indeterminate');
      return text;
    });
    expect(seen).toContain('settled');
  });

  test('refuses a configuration with an unknown key', async () => {
    const bad = await runProgramHere(['serve', '--config', file('bad.yaml', 'prot: 1')]);
    expect(bad).toMatchObject({ code: 2, err: expect.stringContaining('Did you mean port?') as string });
  });
});
