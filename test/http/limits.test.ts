/** What one caller can cost the others: nothing they would notice. */
import { request } from 'node:http';
import type { OutgoingHttpHeaders } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import type { ConfirmationView } from 'quittance/runtime';
import { createRuntime, defineTool } from 'quittance';
import type { ContractsCheck, Problem } from '@quittance/server';
import type { ManualClock } from 'quittance/testing';
import { createManualClock } from 'quittance/testing';
import { z } from 'zod';
import type { TestServer } from './start-server.ts';
import { startServer } from './start-server.ts';

let app: TestServer | undefined;
afterEach(async () => {
  await app?.close();
  app = undefined;
});

type Sent = {
  readonly status: number;
  readonly problem: Problem;
  /** How much of the body had been sent when the answer came. */
  readonly sentBytes: number;
};

/** Sends a body piece by piece until there is an answer. */
function trickle(
  { server }: TestServer,
  path: string,
  headers: OutgoingHttpHeaders,
  piece: Buffer,
  most: number,
): Promise<Sent> {
  return new Promise((resolve, reject) => {
    let sentBytes = 0;
    let isAnswered = false;
    const sent = request(server.url + path, { method: 'POST', headers }, (answer) => {
      isAnswered = true;
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => (text += part));
      answer.on('end', () => {
        sent.destroy();
        resolve({ status: answer.statusCode ?? 0, problem: JSON.parse(text) as Problem, sentBytes });
      });
    });
    sent.on('error', (error) => {
      if (!isAnswered) reject(error);
    });
    const write = (): void => {
      if (isAnswered || sent.destroyed || sentBytes >= most) return;
      sentBytes += piece.length;
      sent.write(piece, () => setImmediate(write));
    };
    write();
  });
}

const json = { 'content-type': 'application/json' };
const kib = Buffer.alloc(1_024, ' ');

describe('a body without a valid token', () => {
  test('is refused by its length before any of it is read', async () => {
    app = await startServer();
    const headers = { ...json, 'content-length': 16_385 };
    const { status, problem, sentBytes } = await trickle(
      app,
      '/v1/decisions',
      headers,
      Buffer.alloc(1, ' '),
      1,
    );
    expect({ status, sentBytes }).toEqual({ status: 413, sentBytes: 1 });
    expect(problem.detail).toMatch(/16384 bytes/);
  });

  test('a body without a valid token without a length is read up to 16 KiB and no further', async () => {
    app = await startServer();
    const { status } = await trickle(app, '/v1/decisions', json, kib, 1_048_576);
    expect(status).toBe(413);
  });

  test('a body without a valid token of a route that needs a token is not read at all', async () => {
    app = await startServer();
    for (const headers of [json, { ...json, authorization: 'Bearer wrong' }]) {
      const { status } = await trickle(app, '/v1/calls', headers, kib, 1_048_576);
      expect(status).toBe(401);
    }
    const wrong = await trickle(
      app,
      '/v1/decisions',
      { ...json, authorization: 'Bearer wrong' },
      kib,
      1_048_576,
    );
    expect(wrong.status).toBe(401);
  });

  test('a body without a valid token with one may have a mebibyte', async () => {
    app = await startServer();
    const { body } = await app.post<ContractsCheck>(
      '/v1/contracts/validate',
      { documents: [{ name: 'a', text: ' '.repeat(100_000) }] },
      'viewer',
    );
    expect(body.ok).toBe(false);
  });
});

describe('a body with a valid token', () => {
  const send = async (text: string): Promise<{ readonly status: number; readonly detail: string }> => {
    if (app === undefined) throw new Error('no server');
    const response = await fetch(`${app.server.url}/v1/contracts/validate`, {
      method: 'POST',
      headers: { ...json, authorization: `Bearer ${app.tokens.viewer}` },
      body: text,
    });
    const { detail } = (await response.json()) as Problem;
    return { status: response.status, detail };
  };

  test('a body with a valid token with too many values is refused before it is parsed', async () => {
    app = await startServer();
    for (const text of [
      `[${'1,'.repeat(20_000)}1]`,
      '['.repeat(120_000),
      `{${'"a":{},'.repeat(20_000)}"a":1}`,
    ])
      expect(await send(text)).toMatchObject({
        status: 413,
        detail: expect.stringMatching(/may hold 20000 JSON values/),
      });
    // Commas in a text are not values.
    expect(
      (await send(JSON.stringify({ documents: [{ name: 'a', text: ',"[{'.repeat(60_000) }] }))).status,
    ).toBe(200);
  });

  test('counts against the rate of its token', async () => {
    app = await startServer({ limits: { bodyRate: { perSecond: 0.001, burst: 300_000 } } });
    const text = JSON.stringify({ documents: [{ name: 'a', text: ' '.repeat(200_000) }] });
    expect((await send(text)).status).toBe(200);
    expect(await send(text)).toMatchObject({
      status: 429,
      detail: expect.stringMatching(/Bodies of more than 65536 bytes/),
    });
    expect((await send(JSON.stringify({ documents: [{ name: 'a', text: '' }] }))).status).toBe(200);
  });
});

describe('behind a proxy', () => {
  const strangerRate = { perSecond: 0.001, burst: 3 };
  const guess = async ({ server }: TestServer, forwarded: string): Promise<number> =>
    (
      await fetch(`${server.url}/v1/me`, {
        headers: { authorization: 'Bearer wrong', 'x-forwarded-for': forwarded },
      })
    ).status;

  test('each anonymous client has its own limit, whatever else it writes into the header', async () => {
    app = await startServer({ trustProxies: ['127.0.0.0/8'], limits: { strangerRate } });
    for (let n = 0; n < 3; n++) expect(await guess(app, `9.9.9.${n}, 1.1.1.1`)).toBe(401);
    expect(await guess(app, '8.8.8.8, 1.1.1.1')).toBe(429);
    expect(await guess(app, '2.2.2.2')).toBe(401);
  });

  test('behind a proxy that is not trusted, the header changes nothing', async () => {
    app = await startServer({ limits: { strangerRate } });
    for (let n = 0; n < 3; n++) expect(await guess(app, `1.1.1.${n}`)).toBe(401);
    expect(await guess(app, '2.2.2.2')).toBe(429);
  });

  test('only the configured header counts', async () => {
    app = await startServer({
      trustProxies: ['127.0.0.1'],
      proxyHeader: 'forwarded',
      limits: { strangerRate },
    });
    for (let n = 0; n < 3; n++) expect(await guess(app, `1.1.1.${n}`)).toBe(401);
    expect(await guess(app, '2.2.2.2')).toBe(429);
  });
});

describe('contracts that a viewer types', () => {
  /** Compiles to hundreds of megabytes and takes most of a minute. */
  const costly = `apiVersion: edictum/v1
kind: Ruleset
metadata: { name: costly }
defaults: { mode: enforce }
rules:
${Array.from(
  { length: 2_000 },
  (_, n) =>
    `  - { id: r${n}, type: pre, tool: t, when: { args.x: { matches: '(([a-z]{1,9}){1,9}){1,10}${n}' } }, then: { action: block, message: m } }`,
).join('\n')}`;
  const fine =
    'apiVersion: edictum/v1\nkind: Ruleset\nmetadata: { name: a }\ndefaults: { mode: enforce }\nrules: []';
  const validate = (text: string): Promise<{ status: number; body: Problem; headers: Headers }> => {
    if (app === undefined) throw new Error('no server');
    return app.post<Problem>('/v1/contracts/validate', { documents: [{ name: 'typed', text }] }, 'viewer');
  };

  test('contracts that a viewer types that take too long or too much memory are refused with 413, while others are answered', async () => {
    app = await startServer({ limits: { contractMs: 1_000 } });
    const order: string[] = [];
    const refused = validate(costly).then((answer) => {
      order.push('costly');
      return answer;
    });
    await app.get('/healthz');
    order.push('others');
    const { status, body } = await refused;
    expect(order).toEqual(['others', 'costly']);
    expect(status).toBe(413);
    expect(body.detail).toMatch(
      /These documents take (longer than 1000 ms|more than 64 MB of memory)\. Send fewer/,
    );
    // The thread was ended. Another request gets another thread, however busy the machine is.
    await eventually(async () => expect((await validate(fine)).status).toBe(200));
  });

  test('contracts that a viewer types in great number are refused with 429, and those of another caller are not', async () => {
    app = await startServer({ limits: { contractMs: 20_000 } });
    const flood = Array.from({ length: 20 }, () => validate(fine));
    const honest = app.post('/v1/contracts/validate', { documents: [{ name: 'b', text: fine }] }, 'operator');
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    expect((await honest).status).toBe(200);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(4);
    const [refused] = (await Promise.all(flood)).filter(({ status }) => status === 429);
    expect(refused?.headers.get('retry-after')).toBe('1');
    expect(refused?.body.detail).toMatch(/4 of yours wait already/);
  });

  test('cannot start a backtest or be explained if they are refused', async () => {
    app = await startServer({ limits: { contractMs: 1 } });
    const documents = [{ name: 'typed', text: costly }];
    for (const [path, body] of [
      ['/v1/contracts/backtest', { documents }],
      ['/v1/contracts/explain', { documents, toolName: 't' }],
    ] as const)
      expect((await app.post<Problem>(path, body, 'operator')).status).toBe(413);
  });
});

describe('a denial whose head arrives before the question expires', () => {
  /** Sends the head of a decision, advances the clock, and then sends its body. */
  async function decideSlowly(
    decision: object,
    between: (clock: ManualClock) => void,
  ): Promise<{ readonly status: number; readonly view: ConfirmationView }> {
    const clock = createManualClock(1_000);
    app = await startServer({}, clock);
    const { ledger, server, tokens } = app;
    // Held by a dead process, so that only this decision acts at the expiry.
    const tool = defineTool({ name: 'drop_table', mode: 'destructive', input: z.object({}), run: () => 1 });
    const holder = createRuntime({ tools: [tool], ledger, holdTimeoutMs: 5_000 });
    const pending = await holder
      .turn({ sessionId: 's1' })
      .call({ id: 'c1', name: 'drop_table', arguments: {} }, { ifHeld: 'return' });
    if (pending.type !== 'pending') throw new Error(pending.type);
    await holder.close();
    const { confirmationId } = pending;
    const text = JSON.stringify(decision);
    return new Promise((resolve, reject) => {
      const sent = request(`${server.url}/v1/confirmations/${confirmationId}/decision`, {
        method: 'POST',
        headers: {
          ...json,
          authorization: `Bearer ${tokens.approver}`,
          'content-length': Buffer.byteLength(text),
          expect: '100-continue',
        },
      });
      // The server has the head once it asks for the body.
      sent.on('continue', () => {
        setImmediate(() => {
          between(clock);
          sent.end(text);
        });
      });
      sent.on('error', reject);
      sent.on('response', (answer) => {
        let body = '';
        answer.setEncoding('utf8');
        answer.on('data', (part: string) => (body += part));
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, view: JSON.parse(body) as ConfirmationView }),
        );
      });
      sent.flushHeaders();
    });
  }

  test('counts although its body arrives later', async () => {
    const { status, view } = await decideSlowly({ decision: 'deny', reason: 'no' }, (clock) =>
      clock.advance(6_000),
    );
    expect({ status, state: view.status }).toEqual({ status: 200, state: 'denied' });
  });

  test('an approval does not', async () => {
    const { status } = await decideSlowly({ decision: 'approve', inputDigest: 'sha256:any' }, (clock) =>
      clock.advance(6_000),
    );
    expect(status).toBe(410);
  });
});
