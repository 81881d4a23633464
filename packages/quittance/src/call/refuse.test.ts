/** The complete table of what may happen to a call in each state: `refuse` must allow exactly this. */
import { describe, expect, it } from 'vitest';
import type { Call } from './call.ts';
import type { Command } from './decide.ts';
import { decide } from './decide.ts';
import type { CallEvent, DecidedBy } from './event.ts';
import { evolve } from './evolve.ts';
import { outcomeToModelContent } from './model-content.ts';
import type { ToolOutcome } from './outcome.ts';

const named = { callId: 'c', toolName: 'pay' };
const result: ToolOutcome = {
  type: 'ToolExecutionResult',
  ...named,
  output: 1,
  elapsedMs: 1,
  wasCoerced: false,
};
const artifact: ToolOutcome = {
  type: 'ToolArtifactReference',
  ...named,
  artifactId: 'a',
  summary: 's',
  sizeBytes: 1,
  elapsedMs: 1,
  wasCoerced: false,
};
const timeout: ToolOutcome = {
  type: 'ToolTimeout',
  ...named,
  code: 'tool.timeout',
  deadlineMs: 1,
  elapsedMs: 1,
  retryable: true,
};
const failure = (
  code:
    | 'tool.execution_error'
    | 'tool.cancelled'
    | 'tool.unknown'
    | 'tool.fixture_missing'
    | 'ledger.altered',
): ToolOutcome => ({ type: 'ToolFailure', ...named, code, error: 'e', retryable: false, elapsedMs: 1 });
const denial: ToolOutcome = {
  type: 'ToolDenied',
  ...named,
  code: 'policy.hook',
  reason: 'pre_hook',
  details: 'no',
};

const ann: DecidedBy = { type: 'person', name: 'ann' };
const hook: DecidedBy = { type: 'hook', name: 'h' };
const digest = 'sha256:0';

const request: Command = {
  type: 'request',
  toolName: 'pay',
  displayName: 'Pay',
  mode: 'external',
  modeOrigin: 'default',
  requestedInput: {},
  hidden: [],
  requestDigest: digest,
  principal: undefined,
  provenance: undefined,
  attrs: undefined,
  submitted: false,
};
const rule = (decision: 'allow' | 'deny' | 'ask', grantId?: string): Command => ({
  type: 'rule',
  decision,
  gates: [],
  decidedBy: undefined,
  policyVersion: undefined,
  effectiveInput: undefined,
  inputDigest: digest,
  changes: [],
  rules: [],
  sideEffect: undefined,
  grantId,
});
const hold = (more: Partial<Command & { type: 'hold' }> = {}): Command => ({
  type: 'hold',
  confirmationId: 'q',
  description: 'sure?',
  asks: [],
  inputDigest: digest,
  ...more,
});
const answer = (
  decision: 'approve' | 'deny' | 'edit' | 'respond',
  more: Partial<Command & { type: 'answer' }> = {},
): Command => ({
  type: 'answer',
  confirmationId: 'q',
  decision,
  by: ann,
  reason: undefined,
  inputDigest: digest,
  ...(decision === 'edit' && { editedDigest: 'sha256:1', editedInput: {} }),
  ...(decision === 'respond' && { response: 'later' }),
  ...more,
});
const expire = (effect: 'allow' | 'block', confirmationId = 'q'): Command => ({
  type: 'expire',
  confirmationId,
  effect,
  by: undefined,
});
const start = (handoff = false): Command => ({
  type: 'start',
  idempotencyKey: undefined,
  deadlineMs: 1,
  mayRerun: false,
  handoff,
  reserved: [],
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
const report = (type: 'claimed' | 'given' | 'differs', attempt = 1): Command => ({
  type: 'report',
  attempt,
  worker: 'w',
  what: type === 'claimed' ? { type, expiresAt: undefined, tokenDigest: 't' } : { type, digest: 'd' },
});
const reclaim = (replaces: string, worker: string): Command => ({
  type: 'report',
  attempt: 1,
  worker,
  what: { type: 'claimed', expiresAt: undefined, tokenDigest: 't2', replaces },
});
const tryAgain = (forEvent: string, attempt: number): Command => ({
  type: 'try_again',
  forEvent,
  attempt,
  notBefore: undefined,
  by: 'retry',
});
const late = (attempt: number): Command => ({
  type: 'add_late',
  attempt,
  elapsedMs: 9,
  result: { type: 'returned', output: 1 },
});
const recall = (how: 'cached' | 'replayed' | 'conflict'): Command => ({
  type: 'recall',
  how,
  fromCallId: 'other',
  details: '',
});
const resolve = (resolution: 'succeeded' | 'failed'): Command => ({
  type: 'resolve',
  resolution,
  by: ann,
  reason: undefined,
  result: undefined,
});
const undo: Command = { type: 'undo', by: ann, undoCallId: 'u', reason: undefined };
const preview: Command = {
  type: 'preview',
  operationId: 'o',
  revision: 1,
  ready: true,
  preview: { kind: 'text', text: 'pays' },
  snapshot: {},
  hidden: [],
  inputDigest: digest,
  expiresAt: undefined,
};

const running = [request, rule('allow'), start()];
const held = [request, rule('ask'), hold()];

/**
 * States, by the commands that lead to them. The last event of each has the id `e` plus the number of events
 * before it.
 */
const approvedInTime: readonly Command[] = [
  request,
  rule('ask'),
  hold({ expiresAt: 9 }),
  answer('approve'),
  rule('allow'),
  start(),
];
const states = {
  'never requested': [],
  requested: [request],
  allowed: [request, rule('allow')],
  denied: [request, rule('deny')],
  copied: [request, rule('allow'), recall('cached')],
  held,
  'held, expiring': [request, rule('ask'), hold({ expiresAt: 9 })],
  'held, allowing on expiry': [request, rule('ask'), hold({ expiresAt: 9, timeoutEffect: 'allow' })],
  'held with a preview': [request, preview, rule('ask'), hold({ revision: 1 })],
  approved: [...held, answer('approve')],
  'approved, allowing on expiry': [
    request,
    rule('ask'),
    hold({ expiresAt: 9, timeoutEffect: 'allow' }),
    answer('approve'),
  ],
  'approved and allowed': [...held, answer('approve'), rule('allow')],
  'approved, expired': [request, rule('allow'), hold({ expiresAt: 9 }), answer('approve'), expire('block')],
  'refused by a person': [...held, answer('deny')],
  withdrawn: [...held, { type: 'withdraw', confirmationId: 'q', reason: 'over' }],
  running,
  'running, of an approval that could expire': approvedInTime,
  'settled, of an approval that could expire': [...approvedInTime, respond(result)],
  'run again': [...running, start()],
  failed: [...running, respond(timeout, false)],
  'to be tried again': [...running, respond(timeout, false), tryAgain('e3', 2)],
  'handed over': [request, rule('allow'), start(true)],
  taken: [request, rule('allow'), start(true), report('claimed')],
  'taken, then handed over again': [request, rule('allow'), start(true), report('claimed'), start(true)],
  'settled by a result': [...running, respond(result)],
  'settled by an artifact': [...running, respond(artifact)],
  'settled and unresolved': [...running, respond(timeout)],
  'settled, found to have succeeded': [...running, respond(timeout), resolve('succeeded')],
  'settled, found to have failed': [...running, respond(timeout), resolve('failed')],
  'settled by a denial': [request, rule('deny'), respond(denial)],
  undone: [...running, respond(result), undo],
} satisfies Readonly<Record<string, readonly Command[]>>;

const commands: Readonly<Record<string, Command>> = {
  request,
  'rule allow': rule('allow'),
  'rule deny': rule('deny'),
  'rule allow by grant': rule('allow', 'g'),
  'rule deny by grant': rule('deny', 'g'),
  exhaust: { type: 'exhaust', scope: 'turn', metric: 'tool_calls', limit: 1, used: 1 },
  hold: hold({ confirmationId: 'q2' }),
  approve: answer('approve'),
  'approve revision 1': answer('approve', { revision: 1 }),
  'approve another input': answer('approve', { inputDigest: 'sha256:9' }),
  'approve another question': answer('approve', { confirmationId: 'q9' }),
  'approve by a hook': answer('approve', { by: hook }),
  'approve without a name': answer('approve', { by: { type: 'person', name: '' } }),
  'approve with other arguments': answer('approve', { editedDigest: 'sha256:1' }),
  'approve with a response': answer('approve', { response: 'later' }),
  refuse: answer('deny'),
  'refuse by a hook': answer('deny', { by: hook }),
  edit: answer('edit'),
  'edit by a hook': answer('edit', { by: hook }),
  answer: answer('respond'),
  'answer by a hook': answer('respond', { by: hook }),
  preview,
  'expire, block': expire('block'),
  'expire, allow': expire('allow'),
  'expire another question': expire('block', 'q9'),
  claim: report('claimed'),
  'claim attempt 2': report('claimed', 2),
  'claim again': reclaim('t', 'w'),
  'claim again, another claim': reclaim('t9', 'w'),
  'claim again, another worker': reclaim('t', 'w9'),
  give: report('given'),
  'give attempt 2': report('given', 2),
  differ: report('differs'),
  undo,
  withdraw: { type: 'withdraw', confirmationId: 'q', reason: 'over' },
  'withdraw another question': { type: 'withdraw', confirmationId: 'q9', reason: 'over' },
  start: start(),
  'end with a result': respond(result),
  'end with an artifact': respond(artifact),
  'end with a timeout': respond(timeout),
  'end with an error': respond(failure('tool.execution_error')),
  'end as cancelled': respond(failure('tool.cancelled')),
  'end as unknown': respond(failure('tool.unknown')),
  'end without a fixture': respond(failure('tool.fixture_missing')),
  'end as altered': respond(failure('ledger.altered')),
  'end as denied': respond(denial),
  'end another call': respond({ ...result, callId: 'other' }),
  'end the attempt': respond(timeout, false),
  'try again': tryAgain('e3', 2),
  'try again, wrong attempt': tryAgain('e3', 3),
  'try again, wrong event': tryAgain('e1', 2),
  'late, attempt 1': late(1),
  'late, attempt 2': late(2),
  'recall, cached': recall('cached'),
  'recall, replayed': recall('replayed'),
  'recall, conflict': recall('conflict'),
  resolve: resolve('failed'),
  'fail to persist': { type: 'fail_to_persist', boundary: 'settle', error: 'full', keptIn: 'spill' },
};

function play(list: readonly Command[]): { call: Call | undefined; events: CallEvent[] } {
  let call: Call | undefined;
  const events: CallEvent[] = [];
  for (const command of list) {
    const decision = decide(call, command, subjectAt(events.length));
    if (!decision.ok) throw new Error(`${command.type}: ${decision.refusal}`);
    events.push(decision.event);
    call = evolve(call, decision.event);
  }
  return { call, events };
}

const subjectAt = (number: number) => ({
  sessionId: 's',
  turnId: 't',
  callId: 'c',
  at: number,
  nextId: () => `e${number}`,
});

const always = ['recall, conflict', 'fail to persist'];
const gates = ['rule allow', 'rule deny', 'rule allow by grant', 'exhaust'];
const endings = ['end as cancelled', 'end as unknown', 'end without a fixture', 'end as altered'];
const endingsWithoutRun = [...endings, 'end as denied'];
const endingsAfterRun = [
  ...endings,
  'end with a result',
  'end with an artifact',
  'end with a timeout',
  'end with an error',
];
const beforeHold = [...always, ...gates, ...endingsWithoutRun, 'hold', 'preview', 'recall, cached'];
const answers = ['approve', 'refuse', 'refuse by a hook', 'edit', 'answer'];
const whileHeld = [...always, ...gates, ...answers, 'withdraw'];
const whileRunning = [...always, ...endingsAfterRun, 'start', 'end the attempt'];
const lateBoth = ['late, attempt 1', 'late, attempt 2'];
const afterRun = [
  ...always,
  ...lateBoth,
  'give',
  'give attempt 2',
  'differ',
  'recall, cached',
  'recall, replayed',
];

const legal: Readonly<Record<keyof typeof states, readonly string[]>> = {
  'never requested': ['request'],
  requested: beforeHold,
  allowed: [...beforeHold, 'start'],
  denied: beforeHold,
  copied: [
    ...beforeHold,
    'end with a result',
    'end with an artifact',
    'end with a timeout',
    'end with an error',
  ],
  held: whileHeld,
  'held, expiring': [...whileHeld, 'expire, block'],
  'held, allowing on expiry': [...whileHeld, 'expire, block', 'expire, allow'],
  'held with a preview': [...always, ...gates, 'approve revision 1', 'withdraw'],
  approved: beforeHold,
  'approved, allowing on expiry': [...beforeHold, 'expire, block'],
  'approved and allowed': [...beforeHold, 'start'],
  'approved, expired': [...always, ...gates, ...endingsWithoutRun, 'expire, block'],
  'refused by a person': [...always, ...gates, ...endingsWithoutRun],
  withdrawn: [...always, ...gates, ...endingsWithoutRun],
  running: whileRunning,
  'running, of an approval that could expire': whileRunning,
  'settled, of an approval that could expire': [...afterRun, 'undo'],
  'run again': [...whileRunning, 'late, attempt 1'],
  failed: [...always, ...endingsAfterRun, ...lateBoth, 'try again'],
  'to be tried again': [...always, ...endingsAfterRun, ...lateBoth, 'start'],
  'handed over': [...whileRunning, 'claim'],
  taken: [...whileRunning, 'give', 'claim again'],
  'taken, then handed over again': [...whileRunning, 'claim attempt 2', 'late, attempt 1'],
  'settled by a result': [...afterRun, 'undo'],
  'settled by an artifact': [...afterRun, 'undo'],
  'settled and unresolved': [...afterRun, 'resolve'],
  'settled, found to have succeeded': [...afterRun, 'undo'],
  'settled, found to have failed': afterRun,
  'settled by a denial': [...always, 'recall, cached'],
  undone: afterRun,
};

describe('allowed commands for a call', () => {
  it.each(Object.keys(states) as (keyof typeof states)[])(
    'allowed commands for a call that is %s',
    (state) => {
      const { call, events } = play(states[state]);
      const allowed = Object.entries(commands)
        .filter(([, command]) => decide(call, command, subjectAt(events.length)).ok)
        .map(([name]) => name);
      expect(allowed.toSorted()).toEqual(legal[state].toSorted());
    },
  );

  it('is refused with a reason', () => {
    const refusal = (state: keyof typeof states, name: string): string | undefined => {
      const { call, events } = play(states[state]);
      const decision = decide(call, commands[name] as Command, subjectAt(events.length));
      return decision.ok ? undefined : decision.refusal;
    };
    expect(refusal('never requested', 'start')).toBe('This call was never requested.');
    expect(refusal('approved', 'approve')).toContain('This was approved already by ann');
    expect(refusal('withdrawn', 'approve')).toBe('This was withdrawn already.');
    expect(refusal('to be tried again', 'try again')).toBe('It is tried again already, as retry asked.');
    expect(refusal('failed', 'try again, wrong attempt')).toBe('The next attempt is number 2.');
    expect(refusal('taken', 'claim')).toBe('w has claimed it.');
    expect(refusal('undone', 'undo')).toContain('This was undone already, by ann');
    expect(refusal('settled, found to have failed', 'resolve')).toContain(
      'This was resolved already, as failed, by ann',
    );
    expect(refusal('requested', 'end with an error')).toContain('cannot end with tool.execution_error');
  });
});
