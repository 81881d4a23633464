import { describe, expect, it } from 'vitest';
import type { Call } from './call.ts';
import type { Command } from './decide.ts';
import { decide } from './decide.ts';
import { evolve } from './evolve.ts';
import { dueAt, isUnclaimed, leaseIsOver } from './call.ts';

const start = (mayRerun: boolean, handoff = true): Command => ({
  type: 'start',
  idempotencyKey: undefined,
  deadlineMs: 1_000,
  mayRerun,
  handoff,
  reserved: [],
});
const report = (
  what: 'claimed' | 'given' | 'differs',
  attempt = 1,
  worker = 'w',
): Command & { type: 'report' } => ({
  type: 'report',
  attempt,
  worker,
  what:
    what === 'claimed'
      ? { type: what, expiresAt: 100, tokenDigest: 'hmac-sha256:0' }
      : { type: what, digest: 'hmac-sha256:1' },
});
const end: Command = {
  type: 'respond',
  final: true,
  outcome: {
    type: 'ToolTimeout',
    callId: 'c',
    toolName: 'pay',
    code: 'tool.timeout',
    deadlineMs: 1_000,
    elapsedMs: 1,
    retryable: true,
  },
  content: '',
  toolSuccess: false,
  error: undefined,
  payloadExtras: undefined,
  costMicros: 0,
  reached: [],
  log: [],
  mayRerun: false,
  repeatIsSafe: false,
  rules: [],
};

const requested: Command = {
  type: 'request',
  toolName: 'pay',
  displayName: 'pay',
  mode: 'external',
  modeOrigin: 'declared',
  requestedInput: {},
  hidden: [],
  requestDigest: 'sha256:0',
  principal: undefined,
  provenance: undefined,
  attrs: undefined,
  submitted: false,
};
const allowed: Command = {
  type: 'rule',
  decision: 'allow',
  gates: [],
  decidedBy: undefined,
  policyVersion: undefined,
  effectiveInput: undefined,
  inputDigest: undefined,
  changes: [],
  rules: [],
  sideEffect: undefined,
};

/** The call after these commands, or the refusal of the first illegal one. */
function play(...commands: readonly Command[]): Call | string {
  let call: Call | undefined;
  let id = 0;
  const subject = { sessionId: 's', turnId: 't', callId: 'c', at: 0, nextId: () => `e${++id}` };
  for (const command of [requested, allowed, ...commands]) {
    const decision = decide(call, command, subject);
    if (!decision.ok) return decision.refusal;
    call = evolve(call, decision.event);
  }
  return call as Call; // at least the request was played
}
const isLegal = (...commands: readonly Command[]): boolean => typeof play(...commands) !== 'string';
const called = (...commands: readonly Command[]): Call => {
  const call = play(...commands);
  if (typeof call === 'string') throw new Error(call);
  return call;
};

describe('a hand-off', () => {
  it('has one worker for each attempt', () => {
    expect(isLegal(report('claimed'))).toBe(false);
    expect(isLegal(start(true, false), report('claimed'))).toBe(false);
    expect(isLegal(start(true), report('claimed'))).toBe(true);
    expect(play(start(true), report('claimed'), report('claimed', 1, 'other'))).toBe('w has claimed it.');
    expect(isLegal(start(true), report('claimed', 2))).toBe(false);
    expect(isLegal(start(true), report('claimed'), start(true), report('claimed', 1))).toBe(false);
    expect(isLegal(start(true), report('claimed'), start(true), report('claimed', 2))).toBe(true);
    expect(isLegal(start(true), end, report('claimed'))).toBe(false);
  });

  it('is reported by its worker; after its end only remarks follow', () => {
    expect(isLegal(start(false), report('given'))).toBe(false);
    expect(isLegal(start(false), report('claimed'), report('given'), end)).toBe(true);
    expect(isLegal(start(true), report('claimed'), start(true), report('given', 1))).toBe(false);
    expect(isLegal(start(false), report('claimed'), report('differs'))).toBe(false);
    expect(isLegal(start(false), report('claimed'), end, report('given'), report('differs'))).toBe(true);
  });

  it('leaves no unknown effect if no worker claimed it', () => {
    expect(called(start(false), end).settled?.unsettledEffect).toBe(false);
    expect(called(start(false), report('claimed'), end).settled?.unsettledEffect).toBe(true);
    expect(called(start(false, false), end).settled?.unsettledEffect).toBe(true);
    expect(isUnclaimed(called(start(true), report('claimed'), start(true)))).toBe(false);
  });

  it('is due at the end of its lease or its deadline, whichever is first and applies', () => {
    expect(dueAt(called(start(false)))).toBe(1_000);
    expect(dueAt(called(start(false), report('claimed')))).toBe(100);
    expect(dueAt(called(start(true), report('claimed')))).toBe(1_000);
    const taken = called(start(true), report('claimed'));
    expect([leaseIsOver(taken, 99), leaseIsOver(taken, 100)]).toEqual([false, true]);
    expect(leaseIsOver(called(start(true), report('claimed'), start(true)), 100)).toBe(false);
  });
});
