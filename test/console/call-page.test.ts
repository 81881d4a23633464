import { createMemoryLedger } from 'quittance/ledger';
import { beforeAll, describe, expect, test } from 'vitest';
import { attemptsOf } from '../../packages/console/src/pages/call/attempts-of.ts';
import { toInputPath } from '../../packages/console/src/pages/call/input-stages.ts';
import { createCallScale } from '../../packages/console/src/pages/call/time-scale.ts';
import type { Bar } from '../../packages/console/src/pages/call/waterfall.ts';
import {
  gateOrder,
  gateOrderAfterApproval,
  toWaterfall,
} from '../../packages/console/src/pages/call/waterfall.ts';
import type { CallEvent } from '../../packages/quittance/src/call/event.ts';
import { gateNames, gatesAfterApproval } from '../../packages/quittance/src/runtime/gates.ts';
import { readCallEvent } from '../../packages/quittance/src/view/read-call-event.ts';
import { fillShop, openShop } from './shop.ts';
import { findCalls } from '../../packages/quittance/src/ledger/reads.ts';

const calls = new Map<string, readonly CallEvent[]>();
beforeAll(async () => {
  const ledger = createMemoryLedger();
  const shop = openShop(ledger);
  await fillShop(shop);
  for (const { sessionId, callId } of (await findCalls(ledger, { limit: 100 })).rows) {
    const stored = await ledger.readCall(sessionId, callId);
    // As a page gets it: through JSON.
    const events = JSON.parse(JSON.stringify(stored?.events)) as readonly unknown[];
    calls.set(
      callId,
      events.flatMap((event) => readCallEvent(event) ?? []),
    );
  }
  await shop.runtime.close();
});
const eventsOf = (callId: string): readonly CallEvent[] => calls.get(callId) ?? [];
/** Without the overhead of a slow machine besides the gates. */
const barsOf = (callId: string): readonly Bar[] =>
  toWaterfall(eventsOf(callId)).filter(({ name }) => name !== 'overhead');

describe('the waterfall', () => {
  test('leaves out events of types that a newer version added', () => {
    const events = eventsOf('call_read');
    const unknown = { ...events[0], type: 'tool.frozen' } as unknown as CallEvent;
    expect(toWaterfall([...events, unknown])).toEqual(toWaterfall(events));
  });

  test('has the gates in the order of the runtime', () => {
    expect(gateOrder).toEqual(gateNames);
    expect(gateOrderAfterApproval).toEqual([...new Set(gatesAfterApproval.map(({ name }) => name))]);
  });

  test('shows every gate, then the attempt', () => {
    expect(barsOf('call_read').map(({ name }) => name)).toEqual(['gates', ...gateOrder, 'attempt 1']);
  });

  test('ends at the gate that stopped the call', () => {
    const bars = barsOf('call_blocked');
    expect(bars.at(-1)).toMatchObject({ name: 'policy', note: 'stopped here', tone: 'bad' });
    expect(bars[0]?.note).toBe('denied by the rule no-large-refunds');
  });

  test('shows how long the call was held, who decided, and the gates after that', () => {
    const bars = barsOf('call_edited');
    expect(bars.find(({ name }) => name === 'held')).toMatchObject({
      kind: 'wait',
      note: 'approved with edited arguments by Ada (self-asserted name)',
    });
    expect(bars.map(({ name }) => name)).toContain('gates again');
  });

  test('adds up: the total of the gates is the sum of each, and the rest', () => {
    const slow = eventsOf('call_read').map((event, index) =>
      event.type === 'tool.decided'
        ? { ...event, at: (eventsOf('call_read')[0]?.at ?? 0) + 3_600_000 + index }
        : event,
    );
    const [whole, ...parts] = toWaterfall(slow).filter(({ kind }) => kind === 'gates' || kind === 'gate');
    expect(parts.at(-1)?.name).toBe('overhead');
    expect(parts.reduce((sum, { ms }) => sum + (ms ?? 0), 0)).toBeCloseTo(whole?.ms ?? 0);
    for (const [index, part] of parts.entries())
      expect(part.from).toBeCloseTo(
        index === 0 ? 0 : (parts[index - 1]?.from ?? 0) + (parts[index - 1]?.ms ?? 0),
      );
  });

  test('shows a preview after the gates that made it, and the body within its attempt', () => {
    const names = barsOf('call_preview').map(({ name }) => name);
    expect(names.slice(0, gateOrder.length + 2)).toEqual(['gates', ...gateOrder, 'preview shown']);
    const attempt = eventsOf('call_coerced').map((event) =>
      event.type === 'tool.responded' && 'elapsedMs' in event.outcome
        ? { ...event, outcome: { ...event.outcome, elapsedMs: 238 } }
        : event,
    );
    expect(toWaterfall(attempt).find(({ name }) => name === 'attempt 1')?.note).toBe(
      'succeeded; execution took 238 ms',
    );
  });

  test('shows an open hold as open', () => {
    expect(barsOf('call_held').at(-1)).toMatchObject({ name: 'held', ms: undefined, tone: 'attention' });
  });

  test('shows attempts in the order they started, with waits between them', () => {
    const steps = barsOf('call_retried').filter(({ kind }) => kind === 'attempt' || kind === 'wait');
    expect(steps.map(({ name }) => name)).toEqual([
      'attempt 1',
      'waiting to retry',
      'attempt 2',
      'waiting to retry',
      'attempt 3',
    ]);
  });

  test('shows that the call was repeated', () => {
    expect(barsOf('call_coerced').at(-1)).toMatchObject({ name: 'requested again', kind: 'moment' });
  });
});

describe('the time scale', () => {
  const bar = (from: number, ms: number | undefined, kind: Bar['kind'] = 'attempt'): Bar => ({
    name: 'x',
    kind,
    from,
    ms,
    note: '',
    tone: 'quiet',
  });

  test('draws equal durations with equal lengths, from 0 to 1', () => {
    const scale = createCallScale([bar(0, 10), bar(10, 30)], 0);
    expect([scale.at(0), scale.at(10), scale.at(40)]).toEqual([0, 0.25, 1]);
    expect(scale.isBroken).toBe(false);
  });

  test('draws a wait of hours short enough to show what happened around it', () => {
    const scale = createCallScale([bar(0, 10), bar(10, 3_600_000, 'wait'), bar(3_600_010, 10)], 0);
    expect(scale.isBroken).toBe(true);
    expect(scale.at(10)).toBeGreaterThan(0.2);
    expect(1 - scale.at(3_600_010)).toBeGreaterThan(0.2);
    expect(scale.at(1_800_000)).toBeGreaterThan(scale.at(10));
  });

  test('handles zero duration, and open durations', () => {
    expect(createCallScale([], 0).at(5)).toBeLessThanOrEqual(1);
    expect(createCallScale([bar(0, 0)], 0).at(0)).toBe(0);
    expect(createCallScale([bar(0, undefined)], 50).at(25)).toBeCloseTo(0.5);
  });
});

describe('the path of the arguments', () => {
  test('shows coercion and repair, with the rule', () => {
    const { stages, changes, hidden, isAsApproved, isAsRequested } = toInputPath(eventsOf('call_coerced'));
    const [requested, coerced, approved, executed] = stages;
    expect(requested.value).toMatchObject({ cents: '1200' });
    expect(coerced).toMatchObject({ status: 'there', value: { cents: 1_200 } });
    expect(approved.status).toBe('none');
    expect(executed.digest).toBe(coerced.digest);
    expect(changes).toHaveLength(1);
    expect(hidden).toEqual(['$.token']);
    expect(JSON.stringify(stages)).not.toContain('sk-very-secret');
    expect(isAsApproved).toBeUndefined();
    expect(isAsRequested).toBe(false);
    expect(toInputPath(eventsOf('call_read')).isAsRequested).toBe(true);
    expect(toInputPath(eventsOf('call_held')).isAsRequested).toBeUndefined();
  });

  test('shows an edit, and that the approved input ran', () => {
    const { stages, isAsApproved } = toInputPath(eventsOf('call_edited'));
    expect(stages[2]).toMatchObject({ status: 'there', note: 'edited by Ada (self-asserted name)' });
    expect(stages[3].value).toEqual({ customer: 'Samuel Okoro', note: 'keep the invoices' });
    expect(stages[3].digest).not.toBe(stages[0].digest);
    expect(isAsApproved).toBe(true);
  });

  test('reports if the executed input is not the approved one', () => {
    const forged = eventsOf('call_approved').map((event) =>
      event.type === 'confirmation.decided' ? { ...event, inputDigest: 'sha256:other' } : event,
    );
    expect(toInputPath(forged).isAsApproved).toBe(false);
  });

  test('ends where the call was stopped', () => {
    expect(toInputPath(eventsOf('call_refused')).stages.map(({ status }) => status)).toEqual([
      'there',
      'same',
      'none',
      'none',
    ]);
    expect(toInputPath(eventsOf('call_held')).stages[2].note).toBe('waiting for approval');
    expect(toInputPath(eventsOf('call_invalid')).stages[3].note).toBe('not executed');
  });
});

describe('attempts', () => {
  test('are all listed, each with its end', () => {
    const attempts = attemptsOf(eventsOf('call_retried'));
    expect(attempts.map(({ ended }) => ended?.outcome.type)).toEqual([
      'ToolFailure',
      'ToolFailure',
      'ToolExecutionResult',
    ]);
    expect(attempts.map(({ costMicros }) => costMicros)).toEqual([1_500, 1_500, 1_500]);
  });

  test('show targets and log lines', () => {
    const [attempt] = attemptsOf(eventsOf('call_coerced'));
    expect(attempt?.reached).toEqual(['https://pay.example.com/v1/refunds']);
    expect(attempt?.log[0]?.message).toBe('The bank took it');
  });

  test('are empty if the body never ran', () => {
    expect(attemptsOf(eventsOf('call_unknown'))).toEqual([]);
    expect(attemptsOf(eventsOf('call_blocked'))).toEqual([]);
  });

  test('keep late results', () => {
    expect(attemptsOf(eventsOf('call_late')).some(({ late }) => late.length > 0)).toBe(true);
  });
});
