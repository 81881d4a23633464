import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  AuditPage,
  CallAnswer,
  CallDetail,
  CallFacets,
  CallPage,
  ContractsCheck,
  ContractsInForce,
  ContractsVersions,
  FeedPage,
  GrantList,
  HandoffList,
  HeadPage,
  Job,
  Me,
  Problem,
  ClaimAnswer,
  ReportAnswer,
  RuleHits,
  SessionDetail,
  SessionPage,
  Stats,
  Timeline,
  ToolDetail,
  ToolList,
} from '@quittance/server';
import { createRuntime, defineTool } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import type { Runtime } from 'quittance';
import { createHttpServer } from '@quittance/server';
import { z } from 'zod';
import { compileJsonSchema } from '../../packages/quittance/src/tool/schema.ts';
import type { JsonObject } from '../../packages/quittance/src/base/json.ts';
import type { ConfirmationView } from '../../packages/quittance/src/runtime/views.ts';
import { routes } from '../../packages/server/src/http/routes.ts';
import { schemaOf, standalone } from '../../packages/server/src/http/app.ts';
import type { TestServer } from './start-server.ts';
import { rules, startServer } from './start-server.ts';
import { findCalls } from '../../packages/quittance/src/ledger/reads.ts';

type Allowed = Extract<CallAnswer, { decision: 'allow' }>;
type Held = Extract<CallAnswer, { decision: 'held' }>;

let app: TestServer;
beforeAll(async () => {
  app = await startServer();
});
afterAll(() => app.close());

describe('a program in another language', () => {
  test('requests a call, is allowed, runs it and reports; a repeat gets the outcome', async () => {
    const { status, body } = await app.ask<Allowed>('w1', 'get_weather', { city: 'Rome' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ decision: 'allow', arguments: { city: 'Rome' }, attempt: 1 });
    const reported = await app.post<ReportAnswer>('/v1/handoffs/report', {
      token: body.token,
      report: { output: { degrees: 21 } },
      notes: { reached: ['weather.example.org'], costMicros: 5 },
    });
    expect(reported.body).toMatchObject({ status: 'settled', differs: false, content: '{"degrees":21}' });
    const again = await app.ask('w1', 'get_weather', { city: 'Rome' });
    expect(again.body).toMatchObject({ decision: 'settled', content: '{"degrees":21}' });
    const twice = await app.post<ReportAnswer>('/v1/handoffs/report', {
      token: body.token,
      report: { output: { degrees: 21 } },
    });
    expect(twice.body).toMatchObject({ status: 'replayed', differs: false });
  });

  test('a program in another language that requests twice is told to run it once, and again only if it names the lost answer', async () => {
    const ask = async (more = {}): Promise<CallAnswer> =>
      (await app.ask<CallAnswer>('w2', 'get_weather', { city: 'Oslo' }, more)).body;
    const runs = { decision: 'running', worker: 'operator-person' };
    expect(await ask({ requestId: 'q1' })).toMatchObject({ decision: 'allow' });
    expect(await ask()).toMatchObject(runs);
    expect(await ask({ requestId: 'q1' })).toMatchObject(runs);
    expect(await ask({ requestId: 'q2', reclaim: ['q0'] })).toMatchObject(runs);
    expect(await ask({ requestId: 'q2', reclaim: ['q1'], worker: 'another' })).toMatchObject(runs);
    const again = await ask({ requestId: 'q2', reclaim: ['q0', 'q1'] });
    expect(again).toMatchObject({ decision: 'allow', attempt: 1, arguments: { city: 'Oslo' } });
    expect(await ask({ requestId: 'q3', reclaim: ['q1'] })).toMatchObject(runs);
    const { token } = again as Allowed;
    const reported = await app.post('/v1/handoffs/report', { token, report: { output: 'rain' } });
    expect(reported.body).toMatchObject({ status: 'settled' });
    expect(await ask({ requestId: 'q4', reclaim: ['q2'] })).toMatchObject({ decision: 'settled' });
  });

  test('a program in another language with twenty overlapping requests is told to run it once, even if all of them report a lost answer', async () => {
    const ask = (more = {}): Promise<string> =>
      app.ask<CallAnswer>('w5', 'get_weather', { city: 'Oslo' }, more).then(({ body }) => body.decision);
    const twenty = (more: (index: number) => object): Promise<string[]> =>
      Promise.all(Array.from({ length: 20 }, (_, index) => ask(more(index))));
    const once = ['allow', ...Array.from({ length: 19 }, () => 'running')];
    expect((await twenty(() => ({ requestId: 'a' }))).toSorted()).toEqual(once);
    expect((await twenty((index) => ({ requestId: `b${index}`, reclaim: ['a'] }))).toSorted()).toEqual(once);
  });

  test('claims a call of a tool again whose id it never received', async () => {
    void app.runtime
      .turn({ sessionId: 's1' })
      .call({ id: 'w6', name: 'send_mail', arguments: { to: 'ada' } });
    const claim = async (more: object): Promise<unknown> =>
      (await app.post<ClaimAnswer>('/v1/handoffs/claim', { toolName: 'send_mail', ...more }, 'operator'))
        .body;
    await expect.poll(() => claim({ requestId: 'c1' })).toMatchObject({ claim: { callId: 'w6' } });
    expect(await claim({ requestId: 'c2' })).toEqual({ claim: null });
    const again = await claim({ requestId: 'c3', reclaim: ['c1'] });
    expect(again).toMatchObject({ claim: { callId: 'w6', attempt: 1 } });
    expect(await claim({ requestId: 'c4', reclaim: ['c1'] })).toEqual({ claim: null });
    const { token } = (again as { claim: { token: string } }).claim;
    await app.post('/v1/handoffs/report', { token, report: { output: 'sent' } }, 'operator');
  });

  test('gets a conflict under the id of another request, and no call', async () => {
    await app.ask('w3', 'get_weather', { city: 'Oslo' });
    // Waits, since the call of the id runs until this request is judged.
    const other = await app.ask('w3', 'get_weather', { city: 'Bergen' }, { waitMs: 60_000 });
    expect(other.body).toMatchObject({ decision: 'deny', outcome: { code: 'call.conflict' } });
    const others = await Promise.all(
      ['a', 'b', 'c'].map((city) => app.ask<CallAnswer>('w4', 'get_weather', { city })),
    );
    expect(others.filter(({ body }) => body.decision === 'allow')).toHaveLength(1);
  });

  test('is denied what the rules, the schema or the tool’s name forbid', async () => {
    expect((await app.ask('d1', 'send_mail', { to: 'a stranger' })).body).toMatchObject({
      decision: 'deny',
      outcome: { code: 'policy.contract', details: 'Not to "a stranger".' },
    });
    expect((await app.ask('d2', 'get_weather', { town: 'Rome' })).body).toMatchObject({
      decision: 'deny',
      outcome: { code: 'tool.invalid_input' },
    });
    expect((await app.ask('d3', 'get_wether', { city: 'Rome' })).body).toMatchObject({
      decision: 'settled',
      outcome: { code: 'tool.unknown' },
    });
  });

  test('lets the server run its own tools', async () => {
    const { body } = await app.ask('l1', 'read_note', { id: 'n7' });
    expect(body).toMatchObject({ decision: 'settled', content: '{"note":"n7"}', isError: false });
  });

  test('waits for a person, and runs what was approved', async () => {
    const held = await app.ask<Held>('h1', 'delete_file', { path: '/tmp/a' });
    expect(held.body).toMatchObject({ decision: 'held', toolName: 'delete_file' });
    const waiting = app.ask<Allowed>('h1', 'delete_file', { path: '/tmp/a' }, { waitMs: 30_000 });
    const decided = await app.post<ConfirmationView>(
      `/v1/confirmations/${held.body.confirmationId}/decision`,
      { decision: 'approve', inputDigest: held.body.inputDigest },
      'approver',
    );
    expect(decided.body).toMatchObject({
      status: 'approved',
      by: { type: 'person', name: 'approver-person' },
    });
    expect((await waiting).body).toMatchObject({ decision: 'allow', arguments: { path: '/tmp/a' } });
  });

  test('claims waiting calls of a tool as a worker', async () => {
    expect((await app.post('/v1/handoffs/claim', { toolName: 'send_mail' })).body).toEqual({ claim: null });
    const claiming = app.post(
      '/v1/handoffs/claim',
      { toolName: 'send_mail', worker: 'mailer', waitMs: 30_000 },
      'operator',
    );
    const asked = app.runtime
      .turn({ sessionId: 's2' })
      .submit({ id: 'm1', name: 'send_mail', arguments: { to: 'bob' } });
    const { body } = await claiming;
    expect(body).toMatchObject({ claim: { callId: 'm1', arguments: { to: 'bob' } } });
    const { rows } = (await app.get<HandoffList>('/v1/handoffs?toolName=send_mail')).body;
    expect(rows).toMatchObject([{ callId: 'm1', status: 'taken', worker: 'operator-person/mailer' }]);
    const { token } = (body as { claim: { token: string } }).claim;
    await app.post('/v1/handoffs/report', {
      token,
      report: { error: 'No such box.', code: 'tool.reported_error' },
    });
    expect(await asked.outcome()).toMatchObject({ type: 'ToolFailure', error: 'No such box.' });
  });
});

describe('decisions', () => {
  const hold = async (id: string): Promise<Held> =>
    (await app.ask<Held>(id, 'delete_file', { path: `/tmp/${id}` })).body;

  test('count once however often they are sent; a different one is refused and names the first person', async () => {
    const { confirmationId, inputDigest } = await hold('q1');
    const path = `/v1/confirmations/${confirmationId}/decision`;
    const approve = { decision: 'approve', inputDigest };
    const [first, second] = [
      await app.post(path, approve, 'approver'),
      await app.post(path, approve, 'approver'),
    ];
    expect(second.status).toBe(200);
    expect(second.body).toEqual(first.body);
    const denied = await app.post<Problem>(path, { decision: 'deny' }, 'approver');
    expect(denied.status).toBe(409);
    expect(denied.body).toMatchObject({
      code: 'confirmation.decided',
      facts: { by: 'approver-person', status: 'approved' },
    });
    expect(denied.body.detail).toContain('approved already by approver-person');
    const other = await app.post<Problem>(path, approve, 'admin');
    expect(other.status).toBe(409);
  });

  test('must be about what was shown', async () => {
    const { confirmationId } = await hold('q2');
    const wrong = await app.post<Problem>(
      `/v1/confirmations/${confirmationId}/decision`,
      { decision: 'approve', inputDigest: 'sha256:0' },
      'approver',
    );
    expect(wrong.body).toMatchObject({ status: 409, code: 'confirmation.mismatch' });
  });

  test('may edit the arguments, or answer the model', async () => {
    const edited = await hold('q3');
    const path = (id: string): string => `/v1/confirmations/${id}/decision`;
    const edit = { decision: 'edit', inputDigest: edited.inputDigest, arguments: { path: '/tmp/other' } };
    expect((await app.post(path(edited.confirmationId), edit, 'approver')).status).toBe(200);
    expect((await app.post(path(edited.confirmationId), edit, 'approver')).status).toBe(200);
    expect((await app.ask('q3', 'delete_file', { path: '/tmp/q3' }, { waitMs: 60_000 })).body).toMatchObject({
      decision: 'allow',
      arguments: { path: '/tmp/other' },
    });
    const answered = await hold('q4');
    await app.post(path(answered.confirmationId), { decision: 'respond', response: 'Leave it.' }, 'approver');
    expect((await app.ask('q4', 'delete_file', { path: '/tmp/q4' }, { waitMs: 60_000 })).body).toMatchObject({
      decision: 'deny',
      outcome: { code: 'confirmation.answered' },
    });
  });

  test('are replaced by a grant, until it is revoked', async () => {
    const given = await app.post<{ grantId: string }>(
      '/v1/grants',
      { sessionId: 's1', toolName: 'delete_*', uses: 2 },
      'approver',
    );
    expect(given).toMatchObject({ status: 201, body: { by: 'approver-person', status: 'active' } });
    expect((await app.ask('g1', 'delete_file', { path: '/tmp/g' })).body).toMatchObject({
      decision: 'allow',
    });
    expect((await app.get<GrantList>('/v1/grants?sessionId=s1&active=true')).body.rows).toHaveLength(1);
    expect((await app.get<GrantList>('/v1/grants')).body).toMatchObject({ capped: false });
    const revoked = await app.post(
      `/v1/sessions/s1/grants/${given.body.grantId}/revoke`,
      { reason: 'over' },
      'approver',
    );
    expect(revoked.body).toMatchObject({ status: 'revoked' });
    expect((await app.ask('g2', 'delete_file', { path: '/tmp/g2' })).body).toMatchObject({
      decision: 'held',
    });
  });
});

describe('reading', () => {
  test('pages through calls without gaps or repeats, and filters them', async () => {
    const seen: string[] = [];
    let cursor = '';
    do {
      const { body } = await app.get<CallPage>(`/v1/calls?limit=3${cursor && `&cursor=${cursor}`}`);
      seen.push(...body.rows.map(({ callId }) => callId));
      cursor = body.next ?? '';
    } while (cursor !== '');
    expect(new Set(seen).size).toBe(seen.length);
    const all = (await app.get<CallPage>('/v1/calls?limit=1000')).body.rows;
    expect(seen).toEqual(all.map(({ callId }) => callId));
    const denied = (await app.get<CallPage>('/v1/calls?outcome=ToolDenied')).body.rows;
    expect(denied.length).toBeGreaterThan(0);
    expect(denied.every(({ outcome }) => outcome === 'ToolDenied')).toBe(true);
    expect((await app.get<CallPage>('/v1/calls?search=STRANGER')).body.rows).toMatchObject([
      { callId: 'd1' },
    ]);
  });

  test('counts calls of each kind as they are listed, with and without filters', async () => {
    const all = (await app.get<CallPage>('/v1/calls?limit=1000')).body.rows;
    const whole = (await app.get<CallFacets>('/v1/calls/facets')).body;
    const some = (await app.get<CallFacets>('/v1/calls/facets?sessionId=s1')).body;
    expect(whole).toMatchObject({ total: all.length, exact: true });
    expect(some.total).toBe(all.filter(({ sessionId }) => sessionId === 's1').length);
    for (const { value, count } of whole.toolName)
      expect(all.filter(({ toolName }) => toolName === value)).toHaveLength(count);
  });

  test('shows one call completely, with an ETag that avoids sending it again', async () => {
    const path = '/v1/sessions/s1/calls/w1';
    const { body, headers } = await app.get<CallDetail>(path);
    expect(body.call).toMatchObject({ callId: 'w1', status: 'settled' });
    expect(body.events.map(({ type }) => type)).toContain('tool.reported');
    expect(body.audit.at(0)?.outcome.kind).toBe('completed');
    expect(body.trace).not.toHaveLength(0);
    expect(body.content).toMatchObject([{ text: '{"degrees":21}' }]);
    expect(body.equivalents.cli).toBe('quittance show w1 --session s1');
    const again = await app.get(path, 'viewer', { 'if-none-match': headers.get('etag') ?? '' });
    expect(again.status).toBe(304);
    expect((await app.get<Problem>('/v1/sessions/s1/calls/none')).body).toMatchObject({
      status: 404,
      code: 'call.unknown',
    });
  });

  test('finds calls and sessions whose names are hostile to URLs', async () => {
    for (const name of ['a/b', '100%', 'ü &?#', '%2F..%2f', 'x'.repeat(300)]) {
      await app.runtime
        .turn({ sessionId: name })
        .call({ id: name, name: 'read_note', arguments: { id: '1' } });
      const part = encodeURIComponent(name);
      const { body } = await app.get<CallDetail>(`/v1/sessions/${part}/calls/${part}`);
      expect(body.call.callId).toBe(name);
      expect((await app.get<SessionDetail>(`/v1/sessions/${part}`)).body.session.sessionId).toBe(name);
    }
  });

  test('lists the sessions of agents, and not the ledger’s own', async () => {
    const { rows } = (await app.get<SessionPage>('/v1/sessions?limit=1000')).body;
    expect(rows.map(({ sessionId }) => sessionId)).toContain('s1');
    expect(rows.map(({ sessionId }) => sessionId)).not.toContain('quittance.ledger');
    expect((await app.get<SessionDetail>('/v1/sessions/quittance.ledger')).body.session.calls).toBe(0);
  });

  test('draws a session as bars in lanes, without overlaps in one lane', async () => {
    const { body } = await app.get<Timeline>('/v1/sessions/s1/timeline');
    const held = body.rows.find(({ call }) => call.callId === 'h1');
    expect(held?.spans.map(({ kind }) => kind)).toEqual(['deciding', 'held', 'waiting', 'running']);
    expect(held?.spans.at(-1)?.to).toBeUndefined();
    for (const one of body.rows)
      for (const other of body.rows.filter((row) => row !== one && row.lane === one.lane)) {
        const [from, to] = [one.spans[0]?.from ?? 0, one.spans.at(-1)?.to ?? Number.POSITIVE_INFINITY];
        expect(
          (other.spans.at(-1)?.to ?? Number.POSITIVE_INFINITY) <= from || (other.spans[0]?.from ?? 0) >= to,
        ).toBe(true);
      }
    expect((await app.get('/v1/sessions/nowhere')).status).toBe(404);
  });

  test('lists audit records in commit order, each once, resumable anywhere', async () => {
    const whole = (await app.get<AuditPage>('/v1/audit?limit=1000')).body;
    const pieces: string[] = [];
    for (let after = 0, more = true; more;) {
      const { body } = await app.get<AuditPage>(`/v1/audit?after=${after}&limit=2`);
      pieces.push(...body.records.map(({ recordId }) => recordId));
      ({ position: after, more } = body);
    }
    expect(pieces).toEqual(whole.records.map(({ recordId }) => recordId));
    const one = (await app.runtime.calls.audit({ sessionId: 's1', callId: 'h1' })).map(
      ({ recordId }) => recordId,
    );
    expect((await app.get(`/v1/audit?after=${whole.position}`)).status).toBe(200);
    const ahead = await app.get<Problem>(`/v1/audit?after=${whole.position + 1_000}`);
    expect(ahead.body).toMatchObject({ status: 400, detail: expect.stringContaining('no such position') });
    const { records } = (await app.get<AuditPage>('/v1/audit?sessionId=s1&callId=h1')).body;
    expect(records.map(({ recordId }) => recordId)).toEqual(one);
  });

  test('gives pages of the feed to clients that do not stream', async () => {
    const { body } = await app.get<FeedPage>('/v1/events?after=0&limit=5', 'viewer', {
      accept: 'application/json',
    });
    expect(body.entries).toHaveLength(5);
    expect(body.more).toBe(true);
    expect(body.entries.map(({ previous }) => previous)).toEqual([
      0,
      ...body.entries.slice(0, -1).map(({ position }) => position),
    ]);
  });

  test('serves artifacts in pieces', async () => {
    const { body } = await app.ask('a1', 'read_log', {}, { waitMs: 60_000 });
    const { artifactId } = (body as { outcome: { artifactId: string } }).outcome;
    const path = `/v1/sessions/s1/artifacts/${artifactId}`;
    const whole = await fetch(app.server.url + path, {
      headers: { authorization: `Bearer ${app.tokens.viewer}` },
    });
    expect(whole.headers.get('content-disposition')).toContain('attachment');
    const text = await whole.text();
    const range = async (value: string): Promise<[number, string, string | null]> => {
      const response = await fetch(app.server.url + path, {
        headers: { authorization: `Bearer ${app.tokens.viewer}`, range: value },
      });
      return [response.status, await response.text(), response.headers.get('content-range')];
    };
    expect(await range('bytes=0-9')).toEqual([206, text.slice(0, 10), `bytes 0-9/${text.length}`]);
    expect(await range('bytes=-4')).toEqual([
      206,
      text.slice(-4),
      `bytes ${text.length - 4}-${text.length - 1}/${text.length}`,
    ]);
    expect((await range(`bytes=${text.length - 2}-`)).slice(0, 2)).toEqual([206, text.slice(-2)]);
    expect((await range('bytes=99999999-'))[0]).toBe(416);
    expect((await range('lines=1-2'))[0]).toBe(200);
  });

  test('counts outcomes over time, tools and rules', async () => {
    const stats = (await app.get<Stats>(`/v1/stats?since=${Date.now() - 3_600_000}`)).body;
    const all = (await app.get<CallPage>('/v1/calls?limit=1000')).body.rows;
    expect(stats.totals.calls).toBe(all.length);
    expect(stats.series.reduce((sum, { calls }) => sum + calls, 0)).toBe(all.length);
    const day = (await app.get<Stats>('/v1/stats')).body;
    expect(day.totals).toEqual(stats.totals);
    expect(stats.now.held).toBe(all.filter(({ status }) => status === 'held').length);
    const weather = all.filter(({ toolName }) => toolName === 'get_weather');
    for (const since of [Date.now() - 3_600_000, Date.now() - 40 * 86_400_000]) {
      const own = (await app.get<Stats>(`/v1/stats?toolName=get_weather&since=${since}`)).body;
      expect(own.totals.calls).toBe(weather.length);
      expect(own.series.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(
        weather.filter(({ outcome }) => outcome === 'ToolExecutionResult').length,
      );
      expect(own.latency.count).toBe(
        weather.filter(({ attempts, outcome }) => attempts > 0 && outcome).length,
      );
      expect(own.codes.reduce((sum, { count }) => sum + count, 0)).toBe(
        weather.filter(({ code }) => code !== undefined).length,
      );
      expect(own.failingTools.every(({ toolName }) => toolName === 'get_weather')).toBe(true);
    }
    const nobody = (await app.get<Stats>('/v1/stats?toolName=__proto__')).body;
    expect(nobody.totals.calls).toBe(0);
    const tools = (await app.get<ToolList>('/v1/tools')).body.rows;
    expect(tools.find(({ name }) => name === 'get_weather')).toMatchObject({
      known: true,
      handoff: true,
      drifted: false,
    });
    // A call that never ran has no duration.
    expect(tools.find(({ name }) => name === 'get_wether')).toMatchObject({
      known: false,
      calls: 1,
      latency: { count: 0 },
    });
    const ran = all.filter(({ attempts, elapsedMs }) => attempts > 0 && elapsedMs !== undefined).length;
    expect([stats.latency.count, day.latency.count]).toEqual([ran, ran]);
    expect((await app.get<ToolDetail>('/v1/tools/delete_file')).body.schema).toMatchObject({
      type: 'object',
    });
    const hits = (await app.get<RuleHits>('/v1/contracts/hits')).body;
    expect(hits.rules).toMatchObject([{ ruleId: 'no-mail-to-strangers', action: 'block', hits: 1 }]);
  });

  test('counts calls of other processes separately', async () => {
    const ledger = createMemoryLedger();
    let finish: (value: string) => void = () => undefined;
    const tools = [
      defineTool({ name: 'get_there', mode: 'read', input: z.object({}), handoff: true }),
      defineTool({
        name: 'get_here',
        mode: 'read',
        run: () => new Promise<string>((resolve) => (finish = resolve)),
      }),
    ];
    const budgets = [
      { scope: 'shop', toolCalls: 7 },
      { scope: 'session', toolCalls: 5 },
    ];
    const runtime: Runtime = createRuntime({ tools, ledger, budgets });
    const server = await createHttpServer({ ledger, runtime, tools, budgets, port: 0, localName: 'ada' });
    const turn = runtime.turn({ sessionId: 's1' });
    const there = turn.submit({ id: 'there', name: 'get_there', arguments: {} });
    const here = turn.submit({ id: 'here', name: 'get_here', arguments: {} });
    const running = async (): Promise<number> => (await findCalls(ledger, { status: 'running' })).rows.length;
    while ((await running()) < 2) await new Promise(setImmediate);
    const answer = await fetch(`${server.url}/v1/stats`, {
      headers: { authorization: `Bearer ${server.token ?? ''}` },
    });
    const stats = (await answer.json()) as Stats;
    expect(stats.now).toMatchObject({ handedOff: 1, open: 2, exact: true });
    const metric = 'tool_calls';
    expect(stats.budgets).toEqual([
      { counter: 'named/"shop"/tool_calls', metric, limit: 7, used: 0, reserved: 2 },
      { counter: 'session/"s1"/tool_calls', metric, limit: 5, used: 0, reserved: 2 },
    ]);
    finish('here');
    await here.outcome();
    const claim = await runtime.handoffs.claim({ toolName: 'get_there' }, { worker: 'w' });
    if (claim !== undefined) await runtime.handoffs.report(claim.token, { output: 'there' });
    await there.outcome();
    await server.close();
    await runtime.close();
    await ledger.close();
  });

  test('names the call that a behavior reacted to with another', async () => {
    const behavior = app.runtime.events.on(
      { name: 'follow-up', on: 'tool.responded', where: { callId: 'first' } },
      async (_, context) => {
        await context.call({ name: 'read_note', arguments: { id: 'second' } });
      },
    );
    await app.ask('first', 'read_note', { id: 'first' }, { sessionId: 'chain' });
    await behavior.caughtUp();
    const { rows } = (await app.get<CallPage>('/v1/calls?sessionId=chain')).body;
    const caused = rows.find(({ callId }) => callId !== 'first')?.callId ?? '';
    const related = [{ how: 'caused_by', sessionId: 'chain', callId: 'first' }];
    const path = `/v1/sessions/chain/calls/${encodeURIComponent(caused)}`;
    expect((await app.get<CallDetail>(path)).body.related).toEqual(related);
    const timeline = (await app.get<Timeline>('/v1/sessions/chain/timeline')).body;
    expect(timeline.rows.find(({ call }) => call.callId === caused)?.related).toEqual(related);
    expect(timeline.rows.find(({ call }) => call.callId === 'first')?.related).toEqual([]);
  });

  test('shows, checks and explains rules', async () => {
    const inForce = (await app.get<ContractsInForce>('/v1/contracts')).body;
    await app.ask('under-rules', 'get_weather', { city: 'Rome' });
    const { rows: versions } = (await app.get<ContractsVersions>('/v1/contracts/versions')).body;
    expect(versions.map(({ policyVersion }) => policyVersion)).toEqual([inForce.policyVersion]);
    expect(inForce).toMatchObject({
      loaded: true,
      rules: [{ ruleId: 'no-mail-to-strangers', mode: 'enforce', tool: 'send_mail' }],
    });
    const good = await app.post<ContractsCheck>(
      '/v1/contracts/validate',
      { documents: [{ name: 'a.yaml', text: rules }] },
      'viewer',
    );
    expect(good.body).toMatchObject({ ok: true, policyVersion: inForce.policyVersion });
    const bad = await app.post<ContractsCheck>(
      '/v1/contracts/validate',
      { documents: [{ name: 'a.yaml', text: 'rules: 1' }] },
      'viewer',
    );
    expect(bad.body.ok).toBe(false);
    expect(bad.body.problems[0]).toMatchObject({ source: 'a.yaml' });
    const why = await app.post(
      '/v1/contracts/explain',
      { toolName: 'send_mail', arguments: { to: 'stranger' } },
      'operator',
    );
    expect(why.body).toMatchObject({ ruling: { decision: 'block' } });
    const env = rules.replace('args.to: { contains: stranger }', 'env.PATH: { exists: true }');
    const blind = await app.post(
      '/v1/contracts/explain',
      { documents: [{ name: 'b.yaml', text: env }], toolName: 'send_mail' },
      'operator',
    );
    expect(blind.body).toMatchObject({ ruling: { decision: 'allow' } });
    expect((await app.post<Problem>('/v1/contracts/reload', {})).body).toMatchObject({
      code: 'http.not_available',
    });
  });

  test('verifies and backtests as jobs that can be followed', async () => {
    const started = await app.post<Job>('/v1/verify', {});
    expect(started).toMatchObject({ status: 202, body: { kind: 'verify', startedBy: 'admin-person' } });
    const followed = (await app.get<string>(`/v1/jobs/${started.body.jobId}/events`)).body;
    const last = JSON.parse(/data: (.*)\n\n$/.exec(followed)?.[1] ?? '{}') as Job;
    expect(last).toMatchObject({ status: 'done', result: { ok: true, problems: 0 } });
    const looser = rules.replace('action: block', 'action: ask');
    const backtest = await app.post<Job>('/v1/contracts/backtest', {
      documents: [{ name: 'a.yaml', text: looser }],
    });
    await app.get(`/v1/jobs/${backtest.body.jobId}/events`);
    expect((await app.get<Job>(`/v1/jobs/${backtest.body.jobId}`)).body).toMatchObject({
      status: 'done',
      kind: 'backtest',
    });
    expect((await app.get('/v1/jobs/none')).status).toBe(404);
  });

  test('returns heads, an export that verifies, metrics, and the caller', async () => {
    const heads = (await app.get<HeadPage>('/v1/heads?limit=1')).body;
    expect(heads.rows).toHaveLength(1);
    expect(
      (await app.get<HeadPage>(`/v1/heads?limit=1&cursor=${heads.next ?? ''}`)).body.rows[0]?.sessionId,
    ).not.toBe(heads.rows[0]?.sessionId);
    const lines = (await app.get<string>('/v1/export?sessionId=s1')).body;
    expect(lines).toContain('quittanceExportEnd');
    const metrics = (await app.get<string>('/metrics')).body;
    expect(metrics).toMatch(
      /^quittance_calls_total\{tool="get_weather",outcome="ToolExecutionResult",code=""\} 2$/m,
    );
    expect((await app.get<Me>('/v1/me', 'approver')).body).toEqual({
      console: { color: 'gray', others: [] },
      name: 'approver-person',
      role: 'approver',
      by: 'token',
      may: ['viewer', 'approver'],
    });
  });

  test('accepts the resolution of an unresolved call, once', async () => {
    expect((await app.ask('r1', 'charge_card', {}, { waitMs: 60_000 })).body).toMatchObject({
      outcome: { type: 'ToolTimeout' },
    });
    const unresolved = await app.get<{ rows: unknown[] }>('/v1/unresolved');
    expect(unresolved.body.rows).toMatchObject([{ callId: 'r1', toolName: 'charge_card' }]);
    const path = '/v1/sessions/s1/calls/r1/resolution';
    const found = { resolution: 'succeeded', reason: 'It is on the statement.', result: { id: 7 } };
    expect((await app.post(path, found, 'operator')).status).toBe(403);
    const resolved = await app.post<CallDetail>(path, found, 'approver');
    expect(resolved.body.call.resolution).toMatchObject({
      resolution: 'succeeded',
      by: { name: 'approver-person', identity: { kind: 'token', name: 'approver-person' } },
    });
    expect((await app.post(path, found, 'approver')).status).toBe(200);
    const other = await app.post<Problem>(path, { resolution: 'failed' }, 'approver');
    expect(other.body).toMatchObject({ status: 409, code: 'call.resolved' });
    expect((await app.get<{ rows: unknown[] }>('/v1/unresolved')).body.rows).toEqual([]);
  });

  test('undoes a call that can be undone', async () => {
    await app.ask('u1', 'set_price', { cents: 5 });
    const undone = await app.post<CallAnswer>(
      '/v1/sessions/s1/calls/u1/undo',
      { reason: 'wrong' },
      'operator',
    );
    expect(undone.body).toMatchObject({ decision: 'settled', callId: 'undo:u1' });
    const again = await app.post<Problem>('/v1/sessions/s1/calls/u1/undo', {}, 'operator');
    expect(again.body).toMatchObject({ status: 409, code: 'undo.spent' });
  });
});

test('a call for a person whose name is not a text is refused, and the lists stay readable', async () => {
  const call = { id: 'odd', name: 'read_note', arguments: { id: 'x' } };
  for (const principal of [{ userId: 5 }, { userId: null }, { claims: 'all' }]) {
    const refused = await app.post<Problem>('/v1/calls', { sessionId: 's1', call, principal }, 'operator');
    expect([refused.status, refused.body.code]).toEqual([400, 'http.bad_request']);
  }
  expect((await app.get('/v1/calls')).status).toBe(200);
});

describe('the description', () => {
  test('is OpenAPI 3.1 whose schemas compile, and every answer matches its schema', async () => {
    const { body } = await app.get<{
      openapi: string;
      paths: JsonObject;
      components: { schemas: JsonObject };
    }>('/openapi.json');
    expect(body.openapi).toBe('3.1.0');
    expect(Object.keys(body.paths).toSorted()).toEqual(
      [...new Set(routes.map(({ path }) => path))].toSorted(),
    );
    for (const name of Object.keys(body.components.schemas))
      expect(() =>
        compileJsonSchema({ $ref: `#/components/schemas/${name}`, components: body.components }),
      ).not.toThrow();
    const held = (await app.get<{ rows: { confirmationId: string }[] }>('/v1/confirmations?limit=1')).body
      .rows[0];
    const known: Readonly<Record<string, string>> = {
      sessionId: 's1',
      callId: 'h1',
      confirmationId: held?.confirmationId ?? '',
      toolName: 'delete_file',
    };
    for (const { method, path, answer } of routes) {
      if (method !== 'GET' || typeof answer !== 'string' || path.includes('{jobId}')) continue;
      // No gateway reports to this ledger; mcp-servers.test.ts reads these.
      if (path.includes('{serverId}')) continue;
      const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => known[name] ?? '');
      const given = await app.get<unknown>(path.endsWith('/compare') ? `${address}?with=s1` : address);
      expect([address, given.status]).toEqual([address, 200]);
      expect([address, compileJsonSchema(standalone(schemaOf(answer)))(given.body)]).toEqual([address, []]);
    }
  });

  test('lists every route of the documentation', () => {
    const page = readFileSync(new URL('../../docs/http-routes.md', import.meta.url), 'utf8').split('\n');
    const told = routes.map(({ method, path, access }) => {
      const row = page.find((line) => line.includes(`\`${method} ${path}\``));
      const isRight = access === 'anyone' ? row !== undefined : row?.includes(`| ${access} `);
      return `${method} ${path} ${isRight === true ? access : 'is not told'}`;
    });
    expect(told).toEqual(routes.map(({ method, path, access }) => `${method} ${path} ${access}`));
  });
});

test('each figure has as many calls as the list behind it, for short spans and for whole hours', async () => {
  // Times out.
  await app.runtime.turn({ sessionId: 'figures' }).call({ id: 'late', name: 'charge_card', arguments: {} });
  const stats = (await app.get<Stats>(`/v1/stats?since=${Date.now() - 3_600_000}`)).body;
  const day = (await app.get<Stats>(`/v1/stats?since=${Date.now() - 86_400_000}`)).body;
  for (const { since, totals, codes, failingTools, rules } of [stats, day]) {
    const listed = async (filters: string): Promise<number> =>
      (await app.get<CallPage>(`/v1/calls?limit=1000&since=${since}${filters}`)).body.rows.length;
    const counted = async (filters: string): Promise<unknown> => {
      const { total, exact } = (await app.get<CallFacets>(`/v1/calls/facets?since=${since}${filters}`)).body;
      return [total, exact];
    };
    const errors = totals.failed + totals.timedOut + totals.indeterminate;
    expect([totals.timedOut > 0, totals.failed > 0]).toEqual([true, true]);
    expect([await listed('&errors=true'), await counted('&errors=true')]).toEqual([errors, [errors, true]]);
    expect(await counted('&errors=true&outcome=ToolDenied')).toEqual([0, true]);
    for (const { code, count } of codes)
      expect([code, await listed(`&code=${code}`), await counted(`&code=${code}`)]).toEqual([
        code,
        count,
        [count, true],
      ]);
    for (const { toolName, failures } of failingTools)
      expect(await counted(`&errors=true&toolName=${toolName}`)).toEqual([failures, true]);
    expect(rules.length).toBeGreaterThan(0);
    for (const { ruleId, calls, lastAt } of rules) {
      const behind = `&outcome=ToolDenied&ruleId=${encodeURIComponent(ruleId)}`;
      expect([await listed(behind), await counted(behind)]).toEqual([calls, [calls, true]]);
      const newest = (await app.get<CallPage>(`/v1/calls?limit=1${behind}`)).body.rows[0];
      expect(newest).toMatchObject({ ruleId, requestedAt: lastAt });
    }
    const { denials } = (await app.get<RuleHits>(`/v1/contracts/hits?since=${since}`)).body;
    expect(denials.toSorted((one, other) => (one.ruleId < other.ruleId ? -1 : 1))).toEqual(
      rules.toSorted((one, other) => (one.ruleId < other.ruleId ? -1 : 1)),
    );
  }
  expect(day.since % 3_600_000).toBe(0);
  const later = (await app.get<RuleHits>(`/v1/contracts/hits?since=${Date.now() + 60_000}`)).body;
  expect(later).toMatchObject({ calls: 0, rules: [], denials: [], exact: true });
});
