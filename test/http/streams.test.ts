import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { HeadPage, Job, JobList } from '@quittance/server';
import { createManualClock } from 'quittance/testing';
import { readExport } from '../../packages/quittance/src/ledger/ledger-export.ts';
import { createVerifier } from '../../packages/quittance/src/ledger/verify.ts';
import { Jobs } from '../../packages/server/src/http/jobs.ts';
import { TokenFile, tokenFilePath } from '../../packages/server/src/http/token-file.ts';
import { SampleCall } from '../../packages/quittance/src/testing/sample-call.ts';
import type { TestServer } from './start-server.ts';
import { rules, startServer } from './start-server.ts';

let app: TestServer;
afterEach(async () => {
  vi.restoreAllMocks();
  await app.close();
});

/** More than fits into the buffers between a server and a client that does not read. */
async function fill(sessions: number, calls = 1): Promise<void> {
  for (let call = 0; call < calls; call++)
    await Promise.all(
      Array.from({ length: sessions }, async (_, n) =>
        app.ledger.append(new SampleCall(`c${call}`, { sessionId: `s${n}` }).whole()),
      ),
    );
}

async function open(path: string, token = app.tokens.admin, method = 'GET'): Promise<IncomingMessage> {
  const asked = request(app.server.url + path, { method, headers: { authorization: `Bearer ${token}` } });
  asked.on('error', () => undefined);
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  return response;
}

/** Everything that still arrives, and whether it ended properly: a cut connection did not. */
async function readOn(response: IncomingMessage): Promise<{ text: string; isWhole: boolean }> {
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (piece: string) => (text += piece));
  if (!response.destroyed) await new Promise((resolve) => response.once('close', resolve));
  return { text, isWhole: response.complete };
}

async function problemsOf(text: string): Promise<number> {
  const { manifest, entries } = await readExport(text.split('\n'));
  const verifier = createVerifier({ heads: manifest.heads });
  let problems = 0;
  for await (const entry of entries) problems += verifier.add(entry).length;
  return problems + verifier.end().length;
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await holds()); tries++) {
    if (tries > 5_000) throw new Error('It never came to that.');
    await sleep(20);
  }
}

describe('the heads', () => {
  test('are read a page at a time, each once, and counted', async () => {
    app = await startServer();
    await fill(25);
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const { body } = await app.get<HeadPage>(`/v1/heads?limit=10${cursor}`);
      expect(body.sessions).toBe(25);
      seen.push(...body.rows.map(({ sessionId }) => sessionId));
      if (body.next === undefined) break;
      cursor = `&cursor=${body.next}`;
    }
    expect(seen).toHaveLength(25);
    expect(new Set(seen).size).toBe(25);
    expect((await app.get('/v1/heads?cursor=%22')).status).toBe(400);
  });
});

describe('an export', () => {
  test('an export of three thousand sessions verifies although calls arrive meanwhile', async () => {
    app = await startServer();
    await fill(3_000);
    const response = await open('/v1/export');
    for (let n = 0; n < 200; n++)
      await app.ledger.append(
        new SampleCall('late', { sessionId: n % 2 === 0 ? `s${n}` : `new${n}` }).whole(),
      );
    const { text, isWhole } = await readOn(response);
    expect(isWhole).toBe(true);
    expect(text.split('\n').length - 1).toBe(3_002);
    expect(await problemsOf(text)).toBe(0);
  });

  test.each([
    ['its token is revoked', 'revoke'],
    ['the time of its token is up', 'expire'],
    ['the server closes', 'close'],
  ] as const)('is cut off if %s, and cannot be mistaken for a complete one', async (_, how) => {
    const clock = createManualClock(1_000_000);
    app = await startServer({}, clock);
    await fill(1_000, 8);
    const file = new TokenFile(tokenFilePath(app.ledgerPath), () => clock.now());
    const { token } = file.create({ name: 'auditor', role: 'admin', expiresInMs: 60_000 });
    const response = await open('/v1/export', token); // no client reads it: it waits in the middle
    // Not read before the server has released it: speed must not help to reach the end.
    if (how === 'close') await app.server.close();
    else {
      if (how === 'revoke') file.revoke('auditor');
      else clock.advance(60_000);
      await until(async () => /_cut_total 1$/m.test((await app.get<string>('/metrics')).body));
    }
    const { text, isWhole } = await readOn(response);
    expect(isWhole).toBe(false);
    await expect(problemsOf(text)).rejects.toThrow('of the export');
  });

  test('is not made for a HEAD request, and sent whole for a range request', async () => {
    app = await startServer();
    await fill(3);
    expect((await open('/v1/export', app.tokens.admin, 'HEAD')).statusCode).toBe(405);
    const ranged = await app.get<string>('/v1/export', 'admin', { range: 'bytes=10-20' });
    expect(ranged.status).toBe(200);
    expect(await problemsOf(ranged.body)).toBe(0);
  });
});

describe('jobs', () => {
  test('are listed, newest first, with who started them and their result, and are found without their ids', async () => {
    app = await startServer();
    await fill(3);
    expect((await app.get<JobList>('/v1/jobs', 'viewer')).body).toEqual({ rows: [] });
    const first = await app.post<Job>('/v1/verify', {});
    await app.get(`/v1/jobs/${first.body.jobId}/events`);
    const second = await app.post<Job>('/v1/verify', { anchor: 'none' });
    await app.get(`/v1/jobs/${second.body.jobId}/events`);
    const third = await app.post<Job>(
      '/v1/contracts/backtest',
      { documents: [{ name: 'a.yaml', text: rules }] },
      'operator',
    );
    const now = (await app.get<JobList>('/v1/jobs?limit=1', 'viewer')).body.rows;
    expect(now.map(({ jobId }) => jobId)).toEqual([third.body.jobId]);
    await app.get(`/v1/jobs/${third.body.jobId}/events`);
    const { rows } = (await app.get<JobList>('/v1/jobs', 'viewer')).body;
    expect(rows).toMatchObject([
      { jobId: third.body.jobId, kind: 'backtest', startedBy: 'operator-person' },
      { jobId: second.body.jobId, kind: 'verify', startedBy: 'admin-person', status: 'failed' },
      { jobId: first.body.jobId, status: 'done', result: { ok: true, problems: 0, sessions: 3 } },
    ]);
    expect(rows.every(({ result }) => result === undefined || !('findings' in result))).toBe(true);
    const verifications = (await app.get<JobList>('/v1/jobs?kind=verify', 'viewer')).body.rows;
    expect(verifications.map(({ jobId }) => jobId)).toEqual([second.body.jobId, first.body.jobId]);
    expect((await app.get('/v1/jobs?kind=other')).status).toBe(400);
  });

  test('are no longer followed after the token is revoked or expires', async () => {
    const clock = createManualClock(1_000_000);
    app = await startServer({}, clock);
    // However fast the work is, it must not end before its follower.
    const following = vi.spyOn(Jobs.prototype, 'follow').mockImplementation(async function* (
      this: Jobs,
      id,
      signal,
    ) {
      yield this.get(id);
      await once(signal, 'abort');
    });
    const { jobId } = (await app.post<Job>('/v1/verify', {})).body;
    const file = new TokenFile(tokenFilePath(app.ledgerPath), () => clock.now());
    const revoked = file.create({ name: 'revoked', role: 'viewer' }).token;
    const over = file.create({ name: 'over', role: 'viewer', expiresInMs: 60_000 }).token;
    const path = `/v1/jobs/${jobId}/events`;
    const [byRevoked, byOver, byViewer] = await Promise.all(
      [revoked, over, app.tokens.viewer].map(async (token) => open(path, token)),
    );
    const ends = [byRevoked, byOver].map(async (response) => readOn(response as IncomingMessage));
    const staying = readOn(byViewer as IncomingMessage);
    file.revoke('revoked');
    expect(await ends[0]).toMatchObject({ isWhole: false });
    clock.advance(60_000);
    expect(await ends[1]).toMatchObject({ isWhole: false });
    expect(byViewer?.destroyed).toBe(false);
    byViewer?.destroy();
    expect(await staying).toMatchObject({ text: expect.stringContaining('event: job') });
    following.mockRestore();
  });

  test('jobs whose thread dies have failed, and say so', async () => {
    app = await startServer();
    const jobs = new Jobs(app.ledger, '/nowhere/at/all/ledger.db');
    const { jobId } = jobs.start({ kind: 'verify', anchor: undefined }, 'ada');
    for await (const _ of jobs.follow(jobId, AbortSignal.timeout(100_000)));
    expect(jobs.get(jobId)).toMatchObject({ status: 'failed', error: expect.any(String) });
    expect(jobs.running).toBe(0);
  });
});
