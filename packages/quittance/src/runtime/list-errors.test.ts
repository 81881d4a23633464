import { createRuntime, defineTool, ToolError } from 'quittance';
import { createManualClock } from 'quittance/testing';
import { createMemoryLedger, summarizeErrors } from 'quittance/ledger';
import { describe, expect, it } from 'vitest';
import type { RuntimeCalls } from './runtime-parts.ts';
import { envelope } from '../../../../test/stage.ts';

async function stage() {
  const clock = createManualClock();
  const ledger = createMemoryLedger({ clock });
  const tools = [
    defineTool({
      name: 'net',
      mode: 'read',
      run: () => {
        throw new ToolError('tool.network_error', 'no line');
      },
    }),
    defineTool({ name: 'pick', mode: 'read', input: { type: 'object', required: ['n'] }, run: () => 1 }),
  ];
  const runtime = createRuntime({ tools, ledger, clock });
  const beforeAll = clock.now();
  await runtime.turn({ sessionId: 'a' }).call(envelope('1', 'net'));
  clock.advance(1_000);
  await runtime.turn({ sessionId: 'a' }).call(envelope('2', 'pick'));
  clock.advance(1_000);
  await runtime.turn({ sessionId: 'b' }).call(envelope('3', 'net', { n: 1 }));
  await runtime.turn({ sessionId: 'b' }).call(envelope('4', 'pick', { n: 1 }));
  return { runtime, ledger, beforeAll };
}

const brief = (groups: Awaited<ReturnType<RuntimeCalls['errors']>>): unknown =>
  groups.map(({ whoseMove, codes }) => [whoseMove, codes.map(({ code, count }) => `${code} ${count}`)]);

describe('runtime.calls.errors', () => {
  it('groups failures in the whole ledger by who can fix the cause', async () => {
    const { runtime, ledger } = await stage();
    expect(brief(await runtime.calls.errors())).toEqual([
      ['retry', ['tool.network_error 2']],
      ['your inputs', ['tool.invalid_input 1']],
    ]);
    expect(await runtime.calls.errors()).toEqual(await summarizeErrors(ledger));
  });

  it('filters by session, by time, or the newest only', async () => {
    const { runtime, beforeAll } = await stage();
    expect(brief(await runtime.calls.errors({ sessionId: 'b' }))).toEqual([
      ['retry', ['tool.network_error 1']],
    ]);
    expect(brief(await runtime.calls.errors({ since: beforeAll + 1_000 }))).toEqual([
      ['retry', ['tool.network_error 1']],
      ['your inputs', ['tool.invalid_input 1']],
    ]);
    expect(brief(await runtime.calls.errors({ limit: 1 }))).toEqual([['retry', ['tool.network_error 1']]]);
    expect(brief(await runtime.calls.errors({ limit: 2 }))).toEqual([
      ['retry', ['tool.network_error 1']],
      ['your inputs', ['tool.invalid_input 1']],
    ]);
    expect(await runtime.calls.errors({ sessionId: '__proto__' })).toEqual([]);
  });

  it.each([
    [{ session: 'a' }, 'No option named "session"'],
    [{ limit: 0 }, 'limit must be a whole number from 1 to 1,000'],
    [{ limit: 1.5 }, 'limit must be a whole number from 1 to 1,000'],
    [{ since: Number.NaN }, 'since must be a time'],
    [{ until: '7d' }, 'until must be a time'],
  ])('refuses %j with a reason', async (query, why) => {
    const { runtime } = await stage();
    await expect(runtime.calls.errors(query as never)).rejects.toThrow(why);
  });
});
