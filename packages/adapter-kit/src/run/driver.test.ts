import { describe, expect, test, vi } from 'vitest';
import { eventually } from '../../../../test/eventually.ts';
import { ToolDecision } from 'quittance/internal/runtime/call-options';
import { defineTool } from 'quittance/internal/tool/define-tool';
import type { AdapterOptions } from '../adopt/adapter-options.ts';
import type { AdoptedTool } from '../adopt/adopted-tool.ts';
import { createDriver } from './driver.ts';
import { sessionCallId } from 'quittance/internal/call/session-call-id';

type Native = { readonly user?: string };
const sessionId = 's';
const request = { id: 'c1', name: 'pay', arguments: { cents: 5 } };

function stage(options: AdapterOptions<Native> = {}) {
  const run = vi.fn<AdoptedTool<Native>['run']>(() => 'paid');
  const driver = createDriver<Native>([{ name: 'pay', run }], {
    overrides: { pay: { mode: 'local' } },
    ...options,
  });
  return { driver, run, open: () => driver.open({ sessionId }) };
}

const free: AdapterOptions<Native> = { overrides: { pay: { mode: 'external' } } };

test("the tool receives the framework's context of the call, and rules see its principal", async () => {
  const seen = vi.fn<(...said: unknown[]) => void>();
  const { run, open } = stage({
    ...free,
    principal: ({ user }) => (user === undefined ? undefined : { userId: user }),
    attrs: () => ({ via: 'test' }),
    onPreToolUse: ({ principal, attrs }) => (seen(principal, attrs), ToolDecision.allow),
  });
  const native = { user: 'ada' };
  const { outcome, content, isError } = await open().call(request, { native });
  expect([outcome.type, content, isError]).toEqual(['ToolExecutionResult', '"paid"', false]);
  expect(run.mock.calls[0]?.[1]).toBe(native);
  expect(seen).toHaveBeenCalledWith({ userId: 'ada' }, { via: 'test' });
});

test("a call approved while no caller waited has the framework's context from its request", async () => {
  const { driver, run, open } = stage();
  const native = { user: 'ada' };
  const question = await open().ask(request, { native });
  const [held] = await driver.runtime.calls.list({ sessionId, callId: 'c1' });
  await driver.runtime.confirmations.decide(question?.confirmationId ?? '', {
    decision: 'approve',
    by: 'grace',
    inputDigest: held?.confirmation?.inputDigest ?? '',
  });
  await eventually(() => expect(run.mock.calls[0]?.[1]).toBe(native));
});

describe('an approval that comes back through the framework', () => {
  test('decides for the person that the host names', async () => {
    const { run, open } = stage({ approver: ({ user }) => user });
    await open().ask(request);
    expect(await open().callApproved(request, { native: {} })).toMatchObject({ type: 'pending' });
    expect(run).not.toHaveBeenCalled();
    const answer = await open().callApproved(request, { native: { user: 'ada' } });
    expect(answer).toMatchObject({ type: 'answer', content: '"paid"' });
  });

  test('decides for the person who makes this request, if the run names one', async () => {
    const { driver } = stage();
    const run = driver.open({ sessionId }, 'grace');
    expect([run.suspends, driver.suspends]).toEqual([true, false]);
    await run.ask(request);
    expect(await run.callApproved(request)).toMatchObject({ type: 'answer' });
    const [made] = await driver.runtime.calls.list({ sessionId, callId: 'c1' });
    expect(made?.confirmation?.by).toMatchObject({
      type: 'person',
      name: 'grace',
      identity: { kind: 'self_asserted' },
    });
  });

  test('does not count if no person had been asked', async () => {
    const { run, open } = stage({ approver: 'ada' });
    expect(await open().callApproved(request)).toMatchObject({ type: 'pending' });
    expect(run).not.toHaveBeenCalled();
  });

  test('does not count for other arguments', async () => {
    const { run, open } = stage({ approver: 'ada' });
    await open().ask(request);
    const forged = { ...request, arguments: { cents: 5_000 } };
    expect(await open().callApproved(forged)).toMatchObject({ outcome: { code: 'call.conflict' } });
    expect(run).not.toHaveBeenCalled();
  });

  test('comes too late after a denial', async () => {
    const { run, open } = stage({ approver: 'ada' });
    await open().ask(request);
    expect(await open().deny('c1', 'No.', { by: 'grace' })).toBe(true);
    expect(await open().deny('c1', 'No.', { by: 'grace' })).toBe(false);
    expect(await open().callApproved(request)).toMatchObject({ outcome: { reason: 'write_denied' } });
    expect(run).not.toHaveBeenCalled();
  });
});

test('a tool that needs approval in its framework is held, with its own question', async () => {
  const driver = createDriver<Native>(
    [{ name: 'pay', asks: (_, native) => `For ${native?.user}?`, run: () => 'paid' }],
    free,
  );
  const run = driver.open({ sessionId });
  expect(await run.callOrPending(request, { native: { user: 'ada' } })).toMatchObject({ type: 'pending' });
  const [held] = await driver.runtime.calls.list({ sessionId, callId: 'c1' });
  expect(held?.confirmation?.description).toBe('For ada?');
});

test('a tool whose approval function throws does not run', async () => {
  const run = vi.fn<() => void>();
  const asks = (): never => {
    throw new Error('broken');
  };
  const { outcome } = await createDriver([{ name: 'pay', asks, run }], free)
    .open({ sessionId })
    .call(request);
  expect(outcome).toMatchObject({ type: 'ToolDenied', reason: 'pre_hook' });
  expect(run).not.toHaveBeenCalled();
});

test('files of an output include their bytes', async () => {
  const chart = defineTool({
    name: 'chart',
    mode: 'read',
    run: (_, { attach }) => attach({ mimeType: 'image/png', content: Uint8Array.of(1, 2, 3), name: 'c.png' }),
  });
  const driver = createDriver([chart], {});
  const { files } = await driver.open({ sessionId }).call({ id: 'c1', name: 'chart', arguments: {} });
  expect(files).toMatchObject([{ mimeType: 'image/png', name: 'c.png' }]);
  expect(Buffer.from(files[0]?.content as Uint8Array)).toEqual(Buffer.of(1, 2, 3));
});

test("a run is found again by the framework's object or name", () => {
  const { driver } = stage();
  const [context, other] = [{}, {}];
  const run = driver.runOf(context, () => ({ sessionId }));
  expect(driver.runOf(context, () => ({ sessionId }))).toBe(run);
  expect(driver.runOf(other, () => ({ sessionId }))).not.toBe(run);
  expect(driver.runOf('r1', () => ({ sessionId }))).toBe(driver.runOf('r1', () => ({ sessionId })));
});

test.each([[''], [7 as unknown as string]])('refuses an approver that is %j', (approver) => {
  expect(() => stage({ approver })).toThrow(/approver must be/);
});

test('refuses overrides for an unknown tool, and lists the known ones', () => {
  expect(() => stage({ overrides: { pya: {} } })).toThrow(/Known tools: pay/);
});

test('an id reused after its answer names another call', () => {
  expect([0, 1, 2].map((times) => sessionCallId('call_0', times))).toEqual([
    'call_0',
    'call_0~2',
    'call_0~3',
  ]);
});
