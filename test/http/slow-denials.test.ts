/**
 * A denial counts from the arrival of its request's head, as long as the body of the tool has not started.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createRuntime, defineTool } from 'quittance';
import type { Runtime, ToolOutcome } from 'quittance';
import type { ConfirmationView } from 'quittance/runtime';
import type { OpenLedger } from 'quittance/store';
import { contractsFromYamlString } from 'quittance/contracts';
import { createHttpServer } from '@quittance/server';
import type { HttpServer } from '@quittance/server';
import { openLedger } from 'quittance/ledger';
import type { ManualClock } from 'quittance/testing';
import { createManualClock } from 'quittance/testing';
import { z } from 'zod';
import { TokenFile, tokenFilePath } from '../../packages/server/src/http/token-file.ts';

const rules = (effect: 'allow' | 'block'): string => `apiVersion: edictum/v1
kind: Ruleset
metadata: { name: tables }
defaults: { mode: enforce }
rules:
  - id: ask-first
    type: pre
    tool: drop_table
    when: { args.name: { contains: '' } }
    then: { action: ask, message: 'Drop it?', timeout: 5, timeout_effect: ${effect} }
`;

type Sent = {
  readonly status: number;
  readonly body: { readonly status?: string; readonly detail?: string };
};
type Stage = {
  readonly clock: ManualClock;
  readonly runtime: Runtime;
  readonly ran: string[];
  readonly asked: Promise<ToolOutcome>;
  readonly question: ConfirmationView;
  /** Sends the head, does something meanwhile, and sends the body. */
  readonly send: (path: string, body: object, between: () => unknown) => Promise<Sent>;
};

let server: HttpServer;
let ledger: OpenLedger;
let runtime: Runtime;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-slow-'));
});
afterEach(async () => {
  await server.close();
  await runtime.close();
  await ledger.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The server's own runtime holds the call, so its expiry acts exactly at its time. */
async function hold(effect: 'allow' | 'block'): Promise<Stage> {
  const clock = createManualClock(1_000);
  const ledgerPath = join(folder, 'ledger.db');
  ledger = await openLedger(ledgerPath, { clock });
  const ran: string[] = [];
  const tool = defineTool({
    name: 'drop_table',
    mode: 'safe_write',
    input: z.object({ name: z.string() }),
    run: ({ name }) => ran.push(name),
  });
  const contracts = contractsFromYamlString(rules(effect));
  runtime = createRuntime({ tools: [tool], ledger, contracts, clock });
  server = await createHttpServer({ ledger, runtime, ledgerUrl: ledgerPath, port: 0, localName: 'ada' });
  const file = new TokenFile(tokenFilePath(ledgerPath), Date.now);
  const { token } = file.create({ name: 'Ada', role: 'approver' });
  const asked = runtime
    .turn({ sessionId: 's1' })
    .call({ id: 'c1', name: 'drop_table', arguments: { name: 'users' } });
  while ((await runtime.confirmations.list()).rows.length === 0) await new Promise(setImmediate);
  const [question] = (await runtime.confirmations.list()).rows;
  if (question === undefined) throw new Error('Nothing is asked.');
  const send: Stage['send'] = (path, body, between) =>
    new Promise((resolve, reject) => {
      const text = JSON.stringify(body);
      const sent = request(server.url + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(text),
          expect: '100-continue',
        },
      });
      // The server has the head once it asks for the body.
      sent.on('continue', () => {
        setImmediate(() => {
          void Promise.resolve(between()).then(() => sent.end(text), reject);
        });
      });
      sent.on('error', reject);
      sent.on('response', (answer) => {
        let got = '';
        answer.setEncoding('utf8');
        answer.on('data', (part: string) => (got += part));
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, body: JSON.parse(got) as Sent['body'] }),
        );
      });
      sent.flushHeaders();
    });
  return { clock, runtime, ran, asked, question, send };
}

/** Lets all pending work finish. */
async function settle(): Promise<void> {
  for (let n = 0; n < 50; n++) await new Promise(setImmediate);
}

const ways: readonly [string, (stage: Stage) => Promise<{ path: string; more: object }>][] = [
  [
    'by a token',
    ({ question }) =>
      Promise.resolve({ path: `/v1/confirmations/${question.confirmationId}/decision`, more: {} }),
  ],
  [
    'by a link',
    async ({ question }) => {
      const { confirmationId } = question;
      const token = await runtime.confirmations.link(confirmationId, { expiresInMs: 60_000, by: 'Ada' });
      return { path: '/v1/decisions', more: { token } };
    },
  ],
];

describe.each(ways)('a denial %s whose head arrives before the question expires', (_, wayOf) => {
  test('stops a call that would run at the expiry', async () => {
    const stage = await hold('allow');
    const { path, more } = await wayOf(stage);
    const { status, body } = await stage.send(path, { ...more, decision: 'deny' }, async () => {
      stage.clock.advance(6_000);
      await settle();
      expect(stage.ran).toEqual([]);
    });
    expect({ status, state: body.status }).toEqual({ status: 200, state: 'denied' });
    expect(await stage.asked).toMatchObject({ type: 'ToolDenied', code: 'confirmation.rejected' });
    expect(stage.ran).toEqual([]);
  });

  test('is the outcome of a call that is blocked at the expiry', async () => {
    const stage = await hold('block');
    const { path, more } = await wayOf(stage);
    const { status } = await stage.send(path, { ...more, decision: 'deny' }, async () => {
      stage.clock.advance(6_000);
      await settle();
    });
    expect(status).toBe(200);
    expect(await stage.asked).toMatchObject({ type: 'ToolDenied', code: 'confirmation.rejected' });
  });

  test('is too late once the call has run: its body is awaited for 10 seconds', async () => {
    const stage = await hold('allow');
    const { path, more } = await wayOf(stage);
    const { status } = await stage.send(path, { ...more, decision: 'deny' }, async () => {
      stage.clock.advance(5_000);
      await settle();
      expect(stage.ran).toEqual([]);
      stage.clock.advance(10_000);
      expect(await stage.asked).toMatchObject({ type: 'ToolExecutionResult' });
    });
    expect(status).toBe(409);
    expect(stage.ran).toEqual(['users']);
  });

  test('lets the expiry act if the request is refused or approves', async () => {
    const stage = await hold('allow');
    const { path, more } = await wayOf(stage);
    const { inputDigest } = stage.question;
    const digest = path.startsWith('/v1/confirmations') ? { inputDigest } : {};
    const { status } = await stage.send(path, { ...more, ...digest, decision: 'approve' }, async () => {
      stage.clock.advance(6_000);
      await settle();
      expect(stage.ran).toEqual([]);
    });
    expect(status).toBe(410);
    expect(await stage.asked).toMatchObject({ type: 'ToolExecutionResult' });
  });
});

test('a denial whose head arrives after the expiry changes nothing', async () => {
  const { clock, asked, question, send, ran } = await hold('allow');
  clock.advance(5_000);
  await asked;
  const path = `/v1/confirmations/${question.confirmationId}/decision`;
  const { status } = await send(path, { decision: 'deny' }, () => undefined);
  expect(status).toBe(409);
  expect(ran).toEqual(['users']);
});
