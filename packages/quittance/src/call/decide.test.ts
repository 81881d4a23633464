import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkAuditOrder } from './audit-order.ts';
import { projectAudit } from './audit-projection.ts';
import type { Call } from './call.ts';
import type { Command } from './decide.ts';
import { decide } from './decide.ts';
import type { CallEvent, DecidedBy } from './event.ts';
import { evolve, foldCall } from './evolve.ts';
import { outcomeToModelContent } from './model-content.ts';
import type { ToolOutcome } from './outcome.ts';

const named = { callId: 'c1', toolName: 'pay' };
const outcomes: readonly ToolOutcome[] = [
  { type: 'ToolExecutionResult', ...named, output: { ok: 1 }, elapsedMs: 1, wasCoerced: false },
  {
    type: 'ToolArtifactReference',
    ...named,
    artifactId: 'a',
    summary: 's',
    sizeBytes: 1,
    elapsedMs: 1,
    wasCoerced: false,
  },
  { type: 'ToolTimeout', ...named, code: 'tool.timeout', deadlineMs: 1, elapsedMs: 1, retryable: true },
  { type: 'ToolFailure', ...named, code: 'tool.execution_error', error: 'e', retryable: true, elapsedMs: 1 },
  { type: 'ToolFailure', ...named, code: 'tool.cancelled', error: 'e', retryable: true, elapsedMs: 0 },
  { type: 'ToolFailure', ...named, code: 'tool.unknown', error: 'e', retryable: false, elapsedMs: 0 },
  { type: 'ToolDenied', ...named, code: 'policy.hook', reason: 'pre_hook', details: 'no' },
  { type: 'ToolDenied', ...named, code: 'turn.ended', reason: 'ended', details: 'over' },
  { type: 'ToolDenied', ...named, code: 'confirmation.expired', reason: 'expired', details: 'late' },
];

const request: Command = {
  type: 'request',
  toolName: 'pay',
  displayName: 'Pay',
  mode: 'external',
  modeOrigin: 'default',
  requestedInput: {},
  hidden: [],
  requestDigest: 'sha256:0',
  principal: undefined,
  provenance: undefined,
  attrs: undefined,
  submitted: false,
};
const rule = (decision: 'allow' | 'deny' | 'ask'): Command => ({
  type: 'rule',
  decision,
  gates: [],
  decidedBy: undefined,
  policyVersion: undefined,
  effectiveInput: undefined,
  inputDigest: 'sha256:0',
  changes: [],
  rules: [],
  sideEffect: undefined,
});
const respond = (outcome: ToolOutcome, final = true): Command => ({
  type: 'respond',
  final,
  outcome,
  content: outcomeToModelContent(outcome),
  toolSuccess: undefined,
  error: undefined,
  payloadExtras: undefined,
  costMicros: 0,
  reached: [],
  log: [],
  rules: [],
  mayRerun: false,
  repeatIsSafe: false,
});

const start: Command = {
  type: 'start',
  idempotencyKey: undefined,
  deadlineMs: 1,
  mayRerun: false,
  reserved: [],
};
const tryAgain = (forEvent: string, attempt: number): Command => ({
  type: 'try_again',
  forEvent,
  attempt,
  notBefore: undefined,
  by: 'retry',
});

const command: fc.Arbitrary<Command> = fc.oneof(
  fc.constant(request),
  fc.constantFrom('allow' as const, 'deny' as const, 'ask' as const).map(rule),
  fc.constantFrom('q1', 'q2').map((confirmationId): Command => ({
    type: 'hold',
    confirmationId,
    description: 'sure?',
    asks: [],
    inputDigest: 'sha256:0',
  })),
  fc
    .record({
      confirmationId: fc.constantFrom('q1', 'q2'),
      decision: fc.constantFrom('approve' as const, 'deny' as const),
      by: fc.constantFrom<DecidedBy>(
        { type: 'person', name: 'ann' },
        { type: 'person', name: '' },
        { type: 'hook', name: 'h' },
      ),
      inputDigest: fc.constantFrom('sha256:0', 'sha256:1'),
    })
    .map((answer): Command => ({ type: 'answer', reason: undefined, ...answer })),
  fc
    .constantFrom('q1', 'q2')
    .map((confirmationId): Command => ({ type: 'withdraw', confirmationId, reason: 'over' })),
  fc.constant<Command>({ type: 'exhaust', scope: 'turn', metric: 'tool_calls', limit: 1, used: 1 }),
  fc.constant(start),
  fc.tuple(fc.constantFrom(...outcomes), fc.boolean()).map(([outcome, final]) => respond(outcome, final)),
  fc.constant<Command>({
    type: 'add_late',
    attempt: 1,
    elapsedMs: 9,
    result: { type: 'returned', output: 1 },
  }),
  fc
    .record({ of: fc.nat({ max: 12 }), attempt: fc.integer({ min: 1, max: 3 }) })
    .map(({ of, attempt }) => tryAgain(`e${of}`, attempt)),
  fc
    .constantFrom('cached' as const, 'replayed' as const, 'conflict' as const)
    .map((how): Command => ({ type: 'recall', how, fromCallId: 'c0', details: '' })),
);

type Played = { readonly call: Call | undefined; readonly events: readonly CallEvent[] };

function play(commands: readonly Command[]): Played {
  let call: Call | undefined;
  const events: CallEvent[] = [];
  for (const next of commands) {
    const decision = decide(call, next, {
      sessionId: 's',
      turnId: 't',
      callId: 'c1',
      at: events.length,
      nextId: () => `e${events.length}`,
    });
    if (!decision.ok) continue;
    events.push(decision.event);
    call = evolve(call, decision.event);
  }
  return { call, events };
}

/** Ends anything that is still open. */
const ending: readonly Command[] = [
  { type: 'withdraw', confirmationId: 'q1', reason: 'over' },
  { type: 'withdraw', confirmationId: 'q2', reason: 'over' },
  respond({
    type: 'ToolFailure',
    ...named,
    code: 'tool.cancelled',
    error: 'e',
    retryable: true,
    elapsedMs: 0,
  }),
];

const commands = fc.array(command, { maxLength: 40 }).map((list) => [request, ...list]);

describe('decide and evolve', () => {
  it('give every call exactly one final outcome, whatever commands come', () => {
    fc.assert(
      fc.property(commands, (list) => {
        const { call, events } = play([...list, ...ending]);
        expect(events.filter((event) => event.type === 'tool.responded' && event.final)).toHaveLength(1);
        expect(call?.status).toBe('settled');
      }),
      { numRuns: 2_000 },
    );
  });

  it('give audit records in a legal order, after every prefix too', () => {
    fc.assert(
      fc.property(commands, (list) => {
        const whole = play([...list, ...ending]).events;
        const kinds = (events: readonly CallEvent[]): string[] =>
          projectAudit(events).map(({ outcome }) => outcome.kind);
        for (let length = 0; length < whole.length; length++)
          expect(checkAuditOrder(kinds(whole.slice(0, length)))).toEqual({ ok: true });
        expect(checkAuditOrder(kinds(whole), { settled: true })).toEqual({ ok: true });
      }),
      { numRuns: 1_000 },
    );
  });

  it('fold the same events to the same call', () => {
    fc.assert(
      fc.property(commands, (list) => {
        const { call, events } = play(list);
        expect(foldCall(events)).toEqual(call);
        expect(foldCall(structuredClone(events))).toEqual(call);
      }),
      { numRuns: 1_000 },
    );
  });

  it('never start a body while a question is open, after a denial, or after the outcome', () => {
    fc.assert(
      fc.property(commands, (list) => {
        const { events } = play(list);
        const before = events.flatMap((event, index) =>
          event.type === 'tool.started' ? [foldCall(events.slice(0, index))] : [],
        );
        expect(before.filter((call) => call?.status === 'held' || call?.status === 'settled')).toEqual([]);
        expect(before.filter((call) => call?.ruling !== 'allow')).toEqual([]);
        expect(
          before.filter(
            (call) => call?.confirmation !== undefined && call.confirmation.status !== 'approved',
          ),
        ).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('never start another attempt after a failure, unless it was requested', () => {
    fc.assert(
      fc.property(commands, (list) => {
        const { events } = play([request, rule('allow'), start, ...list]);
        const before = events.flatMap((event, index) =>
          event.type === 'tool.started' ? [foldCall(events.slice(0, index))] : [],
        );
        expect(before.filter((call) => call?.failed !== undefined && call.retry === undefined)).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('accept a retry request once, for the last failed attempt and for the next number only', () => {
    const failure = outcomes[3] as ToolOutcome;
    const failed = [request, rule('allow'), start, respond(failure, false)]; // the failure is e3
    const asked = (...more: readonly Command[]): number =>
      play([...failed, ...more]).events.filter(({ type }) => type === 'retry.requested').length;
    expect(asked(tryAgain('e3', 2))).toBe(1);
    expect(asked(tryAgain('e3', 2), tryAgain('e3', 2))).toBe(1);
    expect(asked(tryAgain('e3', 3))).toBe(0);
    expect(asked(tryAgain('e2', 2))).toBe(0);
    expect(asked(respond(failure), tryAgain('e3', 2))).toBe(0);
    expect(play([request, rule('allow'), start, tryAgain('e2', 2)]).events).toHaveLength(3);
    // Requested and started, it is an attempt like the first: it may end, and the first no longer counts.
    const { call } = play([...failed, tryAgain('e3', 2), start]);
    expect(call).toMatchObject({ attempt: 2, failed: undefined, retry: undefined, status: 'running' });
  });

  it('end an attempt once, and store the result of an earlier one as late', () => {
    const failure = outcomes[3] as ToolOutcome;
    const failed = [request, rule('allow'), start, respond(failure, false)];
    const late: Command = {
      type: 'add_late',
      attempt: 1,
      elapsedMs: 9,
      result: { type: 'threw', error: 'e' },
    };
    expect(play([...failed, respond(failure, false)]).events).toHaveLength(4);
    expect(play([request, rule('allow'), start, late]).events).toHaveLength(3);
    expect(play([...failed, late]).call?.late).toHaveLength(1);
    expect(play([...failed, tryAgain('e3', 2), start, late]).call?.late).toHaveLength(1);
  });

  it('never change an existing outcome', () => {
    fc.assert(
      fc.property(commands, commands, (first, second) => {
        const settled = play([...first, ...ending]);
        const after = play([...first, ...ending, ...second]);
        expect(after.call?.settled).toEqual(settled.call?.settled);
      }),
      { numRuns: 1_000 },
    );
  });

  it('refuse a decision about another input, and one without a name', () => {
    const held = play([
      request,
      { type: 'hold', confirmationId: 'q1', description: 'sure?', asks: [], inputDigest: 'sha256:0' },
    ]).call;
    const subject = { sessionId: 's', turnId: 't', callId: 'c1', at: 0, nextId: () => 'e' };
    const answer = {
      type: 'answer',
      confirmationId: 'q1',
      decision: 'approve',
      by: { type: 'person', name: 'ann' },
      reason: undefined,
      inputDigest: 'sha256:0',
    } as const;
    expect(decide(held, answer, subject).ok).toBe(true);
    expect(decide(held, { ...answer, inputDigest: 'sha256:1' }, subject)).toMatchObject({ ok: false });
    expect(decide(held, { ...answer, by: { type: 'person', name: '' } }, subject)).toMatchObject({
      ok: false,
    });
    expect(decide(held, { ...answer, confirmationId: 'q2' }, subject)).toMatchObject({ ok: false });
  });

  it('name a grant only if the call is allowed', () => {
    const { call } = play([request]);
    const subject = { sessionId: 's', turnId: 't', callId: 'c1', at: 0, nextId: () => 'e' };
    const under = (decision: 'allow' | 'deny' | 'ask'): boolean =>
      decide(call, { ...rule(decision), grantId: 'g' } as Command, subject).ok;
    expect((['allow', 'deny', 'ask'] as const).map(under)).toEqual([true, false, false]);
  });

  it('mark an effect as unknown only if the body ran and may not run again', () => {
    const ends = (outcome: ToolOutcome, mayRerun: boolean, started = true): boolean => {
      const list: Command[] = [
        request,
        rule('allow'),
        ...(started
          ? [{ type: 'start', idempotencyKey: undefined, deadlineMs: 1, mayRerun, reserved: [] } as const]
          : []),
      ];
      const last = { ...respond(outcome), mayRerun } as Command;
      return play([...list, last]).call?.settled?.unsettledEffect ?? false;
    };
    const timeout = outcomes[2] as ToolOutcome;
    const broke = outcomes[3] as ToolOutcome;
    expect(ends(timeout, false)).toBe(true);
    expect(ends(broke, false)).toBe(true);
    expect(ends(timeout, true)).toBe(false);
    expect(ends(outcomes[4] as ToolOutcome, false, false)).toBe(false);
    expect(ends(outcomes[0] as ToolOutcome, false)).toBe(false);
  });
});
