/**
 * Browsers send a cookie to every port of its host. An agent that starts a web server which its user opens
 * therefore gets the cookie of the console. It must not be able to decide or read anything with it.
 */
import type { IncomingMessage, Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { approve } from '../approve.ts';
import { holdCall } from './shop.ts';
import type { Stage } from './stage.ts';
import { openStage } from './stage.ts';

let stage: Stage;
let other: Server;
let otherUrl: string;
const taken: IncomingMessage['headers'][] = [];
/** Cookies that the other server sets. */
let tossed: readonly string[] = [];

beforeAll(async () => {
  stage = await openStage({ fill: () => Promise.resolve() });
  other = createServer((request, answer) => {
    taken.push(request.headers);
    answer.setHeader('set-cookie', [...tossed]);
    answer.setHeader('content-type', 'text/html');
    answer.end('<!doctype html><title>Report</title><h1>Your report</h1>');
  });
  await new Promise<void>((resolve) => {
    other.listen(0, '127.0.0.1', resolve);
  });
  otherUrl = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
});
afterAll(async () => {
  other.closeAllConnections();
  other.close();
  await stage.close();
});

test('a server on another port gets the cookie, and cannot approve, read or download with it', async () => {
  const { server, runtime, browser } = stage;
  const turn = runtime.turn({ sessionId: 'other-port' });
  const { confirmationId } = await holdCall(runtime, turn, 'call_1', 'refund', { order: 'o1', cents: 4_500 });
  const statusOf = async (): Promise<string | undefined> =>
    (await runtime.confirmations.list({})).rows.find((each) => each.confirmationId === confirmationId)
      ?.status;

  const context = await browser.newContext();
  const page = await context.newPage();
  const link = server.loginLink() ?? '';
  await page.goto(link);
  await page.getByRole('button', { name: /^Log in as/ }).click();
  await page.getByRole('heading', { level: 1 }).waitFor();
  const path = `/v1/confirmations/${confirmationId}/decision`;

  // The user opens the agent's page, and the browser sends the cookie.
  const trap = await context.newPage();
  await trap.goto(otherUrl);
  const cookie = taken.at(-1)?.cookie ?? '';
  expect(cookie).toContain(`quittance-${server.port}=qt_`);

  // Requests of the agent itself, with every header that a browser would send.
  for (const extra of [
    {},
    { 'x-quittance-request': '1' },
    { 'x-quittance-page-key': cookie.split('=')[1] ?? '' },
  ]) {
    const headers = {
      cookie,
      origin: server.url,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/json',
      ...extra,
    };
    const decided = await fetch(server.url + path, {
      method: 'POST',
      headers,
      body: '{"decision":"approve"}',
    });
    expect(decided.status).toBe(401);
    for (const read of ['/v1/confirmations', '/v1/calls', '/v1/export', '/v1/events?after=now'])
      expect((await fetch(server.url + read, { headers })).status).toBe(401);
    const form = { path: '/v1/export', 'page-key': '' };
    const { 'content-type': _type, ...formHeaders } = headers;
    const download = await fetch(`${server.url}/download`, {
      method: 'POST',
      headers: formHeaders,
      body: new URLSearchParams(form),
    });
    expect(download.status).toBe(401);
  }

  // Requests of its page in the user's browser.
  const inPage = await trap.evaluate(
    async ([url, decision]) => {
      const attempt = async (init: RequestInit): Promise<string> => {
        try {
          const answer = await fetch(url + decision, { method: 'POST', credentials: 'include', ...init });
          return answer.type;
        } catch {
          return 'refused';
        }
      };
      const body = '{"decision":"approve"}';
      return {
        simple: await attempt({ mode: 'no-cors', body }),
        header: await attempt({
          body,
          headers: { 'x-quittance-page-key': 'x', 'content-type': 'application/json' },
        }),
        storage: window.localStorage.getItem('quittance.page-key'),
        cookie: document.cookie,
      };
    },
    [server.url, path] as const,
  );
  expect(inPage).toEqual({ simple: expect.any(String), header: 'refused', storage: null, cookie: '' });
  expect(await statusOf()).toBe('pending');

  // A cookie of the same name that the other server sets for a longer path does not lock the user out.
  tossed = [
    `quittance-${server.port}=qt_tossed; Path=/v1`,
    `quittance-${server.port}=qt_tossed; Path=/v1/confirmations`,
  ];
  await trap.goto(otherUrl);
  await page.goto(`${server.url}/inbox/${confirmationId}`);
  await approve(page.locator('article.question[data-seen="true"]'));
  await page.getByText('You approved this').waitFor();
  expect(await statusOf()).toBe('approved');
  await context.close();
});
