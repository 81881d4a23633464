/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
import { expect, test } from 'vitest';
import {
  documentOf,
  policyOf,
  policyOfDocuments,
  preRule,
  sampleCall,
  sampleWorld,
} from '../../../../../test/sample-policy.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { CodeRule } from '../language/code-rule.ts';
import type { Policy, SessionCounters } from './compile-policy.ts';
import { compilePolicy } from './compile-policy.ts';
import type { PolicyCall } from '../language/policy-call.ts';
import type { Ruling } from '../language/ruling.ts';

function judge(policy: Policy, call: PolicyCall = sampleCall(), counters?: SessionCounters): Ruling {
  const ruling = policy.judgeCall(call, counters);
  if ('then' in ruling) throw new Error('No rule here waits.');
  return ruling;
}

const always: JsonObject = { 'tool.name': { exists: true } };
const asks = (message: string, more: JsonObject = {}): JsonObject => ({
  then: { action: 'ask', message, ...more },
});

test('a call that no rule matches is allowed', () => {
  const ruling = judge(
    policyOf([preRule('no-rm', { 'args.command': { contains: 'rm' } })]),
    sampleCall({ command: 'ls' }),
  );
  expect(ruling).toMatchObject({ decision: 'allow', decidedBy: undefined, fired: [], observed: [] });
  expect(ruling.policyVersion).toMatch(/^[0-9a-f]{64}$/);
});

test('block beats ask in any order, and every fired rule is listed in order', () => {
  const ruling = judge(
    policyOf([preRule('a', always, asks('May it?')), preRule('b', always), preRule('c', always)]),
  );
  expect(ruling.decision).toBe('block');
  expect(ruling.decidedBy?.ruleId).toBe('b');
  expect(ruling.fired.map(({ ruleId }) => ruleId)).toEqual(['a', 'b', 'c']);
});

test('a fired rule carries its tags, its metadata and, for an ask, its timeout', () => {
  const then = {
    action: 'ask',
    message: 'Delete {args.path}?',
    tags: ['t'],
    metadata: { m: 1 },
    timeout: 9,
    timeout_effect: 'allow',
  };
  expect(judge(policyOf([preRule('a', always, { then })]), sampleCall({ path: '/x' })).decidedBy).toEqual({
    ruleId: 'a',
    ruleType: 'pre',
    action: 'ask',
    message: 'Delete /x?',
    tags: ['t'],
    metadata: { m: 1 },
    policyError: false,
    observed: false,
    timeoutSeconds: 9,
    timeoutEffect: 'allow',
  });
});

test('a policy error makes the rule fire and is marked', () => {
  const ruling = judge(
    policyOf([preRule('limit', { 'args.amount': { gt: 1000 } })]),
    sampleCall({ amount: '99999' }),
  );
  expect(ruling).toMatchObject({ decision: 'block', decidedBy: { policyError: true } });
});

test('rules for other tools do not fire; patterns and exact names keep the order of the document', () => {
  const policy = policyOf([
    preRule('glob', always, { tool: 'B*' }),
    preRule('other', always, { tool: 'Read' }),
    preRule('exact', always),
    preRule('any', always, { tool: '*' }),
  ]);
  const fired = (toolName: string): string[] =>
    judge(policy, sampleCall({}, { toolName })).fired.map(({ ruleId }) => ruleId);
  for (let time = 0; time < 2; time++) {
    expect(fired('Bash')).toEqual(['glob', 'exact', 'any']);
    expect(fired('Bash\0')).toEqual(['glob', 'any']);
    expect(fired('bash')).toEqual(['any']);
    expect(fired('__proto__')).toEqual(['any']);
    expect(fired('Read')).toEqual(['other', 'any']);
  }
});

test('any number of tool names is judged, the thousandth like the first', () => {
  const policy = policyOf([preRule('glob', always, { tool: 'x*' })]);
  for (let count = 0; count < 3_000; count++)
    expect(judge(policy, sampleCall({}, { toolName: `x${count}` })).decision).toBe('block');
});

test('an observing rule lets the call continue and reports what it would have done', () => {
  const ruling = judge(
    policyOf([preRule('watch', always, { mode: 'observe' }), preRule('real', always, asks('Sure?'))]),
  );
  expect(ruling.decision).toBe('ask');
  expect(ruling.fired.map(({ ruleId }) => ruleId)).toEqual(['real']);
  expect(ruling.observed).toMatchObject([{ ruleId: 'watch', action: 'block', observed: true }]);
});

test('a candidate never decides, whatever its mode', () => {
  const policy = policyOfDocuments([
    documentOf([preRule('a', { 'args.x': { exists: true } })]),
    documentOf([preRule('a', always)], { observe_alongside: true }),
  ]);
  const ruling = judge(policy);
  expect(ruling.decision).toBe('allow');
  expect(ruling.observed.map(({ ruleId }) => ruleId)).toEqual(['a:candidate']);
});

const sandbox: JsonObject = {
  id: 'inside',
  type: 'sandbox',
  tool: 'Bash',
  within: ['/project'],
  message: 'Out: {args.path}',
};

test('a sandbox rule fires for a resource outside', () => {
  const policy = policyOf([sandbox]);
  expect(judge(policy, sampleCall({ path: '/project/a' })).decision).toBe('allow');
  expect(judge(policy, sampleCall({ path: '/etc/passwd' })).decidedBy).toMatchObject({
    ruleType: 'sandbox',
    action: 'block',
    message: 'Out: /etc/passwd',
  });
  const asking = judge(policyOf([{ ...sandbox, outside: 'ask' }]), sampleCall({ path: '/etc/passwd' }));
  expect(asking.decidedBy).toMatchObject({ action: 'ask', timeoutSeconds: 300, timeoutEffect: 'block' });
});

test('a candidate only observes even if its mode says otherwise', () => {
  const { composed } = policyOf([preRule('a', always)]);
  const rules = composed.rules.map((rule) => ({ ...rule, candidate: true }));
  const ruling = judge(compilePolicy({ ...composed, rules }, sampleWorld()));
  expect([ruling.decision, ruling.observed.length]).toEqual(['allow', 1]);
});

test('without answers from the world a call counts as outside', () => {
  const world = Object.defineProperty(sampleWorld(), 'workingDirectory', {
    get: () => {
      throw new Error('gone');
    },
  });
  const ruling = judge(policyOf([sandbox], world), sampleCall({ path: 'a/b' }));
  expect(ruling).toMatchObject({ decision: 'block', decidedBy: { policyError: true } });
});

test('a failing port of the host puts the call outside', () => {
  const world = sampleWorld({
    realPath: () => {
      throw new Error('disk on fire');
    },
  });
  expect(judge(policyOf([sandbox], world), sampleCall({ path: '/project/a' })).decision).toBe('block');
});

const limit = (limits: JsonObject, changes: JsonObject = {}): JsonObject => ({
  id: 'limit',
  type: 'session',
  limits,
  then: { action: 'block', message: 'Enough of {tool.name}' },
  ...changes,
});
const counters = (
  toolCalls: number,
  attempts = 0,
  perTool: Record<string, number> = {},
): SessionCounters => ({
  toolCalls,
  attempts,
  callsOf: (toolName) => (Object.hasOwn(perTool, toolName) ? (perTool[toolName] ?? 0) : 0),
});

test.each<[JsonObject, SessionCounters, Ruling['decision']]>([
  [{ max_tool_calls: 3 }, counters(2), 'allow'],
  [{ max_tool_calls: 3 }, counters(3), 'block'],
  [{ max_attempts: 3 }, counters(9, 2), 'allow'],
  [{ max_attempts: 3 }, counters(0, 3), 'block'],
  [{ max_calls_per_tool: { Bash: 3 } }, counters(9, 9, { Bash: 2 }), 'allow'],
  [{ max_calls_per_tool: { Bash: 3 } }, counters(0, 0, { Bash: 3 }), 'block'],
  [{ max_calls_per_tool: { Read: 1 } }, counters(0, 0, { Bash: 3 }), 'allow'],
  [{ max_calls_per_tool: { 'B*': 3 } }, counters(0, 0, { Bash: 2, Both: 9 }), 'allow'],
  [{ max_calls_per_tool: { 'B*': 3 } }, counters(0, 0, { Bash: 3 }), 'block'],
  [{ max_calls_per_tool: { '*': 2, Bash: 5 } }, counters(0, 0, { Bash: 2 }), 'block'],
  [{ max_tool_calls: 100, max_calls_per_tool: { Bash: 5 } }, counters(10, 0, { Bash: 6 }), 'block'],
])('limits %j with counters: %s', (limits, used, decision) => {
  const ruling = judge(policyOf([limit(limits)]), sampleCall(), used);
  expect(ruling.decision).toBe(decision);
  expect(ruling.decidedBy?.message).toBe(decision === 'block' ? 'Enough of Bash' : undefined);
});

test('without counters session rules do not fire', () => {
  expect(judge(policyOf([limit({ max_tool_calls: 1 })])).decision).toBe('allow');
});

test('limits are shares of counters that belong to the session', () => {
  const policy = policyOf([
    limit({ max_tool_calls: 5, max_calls_per_tool: { 'B*': 2, Read: 1 } }),
    limit({ max_tool_calls: 9 }, { id: 'wider', mode: 'observe' }),
  ]);
  expect(
    policy.limitsFor('Bash').map(({ ruleId, counter, limit: most, mode }) => [ruleId, counter, most, mode]),
  ).toEqual([
    ['limit', 'tool_calls', 5, 'enforce'],
    ['limit', 'calls_per_tool/"Bash"', 2, 'enforce'],
    ['wider', 'tool_calls', 9, 'observe'],
  ]);
  const [first, , last] = policy.limitsFor('Bash');
  if (first === undefined || last === undefined) throw new Error('There are three.');
  expect(policy.limitFired(first, sampleCall())).toMatchObject({
    ruleId: 'limit',
    message: 'Enough of Bash',
    observed: false,
  });
  expect(policy.limitFired(last, sampleCall()).observed).toBe(true);
  expect(policy.limitFired({ ...first, ruleId: 'gone' }, sampleCall())).toMatchObject({
    ruleId: 'gone',
    action: 'block',
  });
});

const codeRule = (check: (call: PolicyCall) => unknown, id = 'code'): CodeRule => ({
  type: 'code',
  id,
  tool: '*',
  mode: undefined,
  tags: ['by-code'],
  metadata: undefined,
  when: 'before',
  // Plain JavaScript may answer anything.
  check: (call) => check(call) as undefined,
});

test('code rules are judged together with documents, synchronously if they answer synchronously', () => {
  const policy = policyOf([preRule('doc', always, asks('Sure?'))], undefined, [
    codeRule(({ input }) => (input['x'] === 1 ? { action: 'block', message: 'No {args.x}' } : undefined)),
  ]);
  expect(judge(policy, sampleCall({ x: 2 })).decision).toBe('ask');
  expect(judge(policy, sampleCall({ x: 1 })).decidedBy).toMatchObject({
    ruleType: 'code',
    message: 'No {args.x}',
    tags: ['by-code'],
  });
});

test('the policy waits for a code rule that returns a promise, and the order stays', async () => {
  const slow = codeRule(async () => {
    await Promise.resolve();
    return { action: 'ask', message: 'slow' };
  }, 'slow');
  const quick = codeRule(() => ({ action: 'ask', message: 'quick' }), 'quick');
  const ruling = await policyOf([], undefined, [slow, quick]).judgeCall(sampleCall());
  expect(ruling.fired.map(({ ruleId }) => ruleId)).toEqual(['slow', 'quick']);
  expect(ruling.decidedBy).toMatchObject({ timeoutSeconds: 300, timeoutEffect: 'block' });
});

test.each<[string, (call: PolicyCall) => unknown]>([
  [
    'throws',
    () => {
      throw new Error('oops');
    },
  ],
  ['rejects', async () => await Promise.reject(new Error('oops'))],
  ['answers true', () => true],
  ['answers null', () => null],
  ['allows', () => ({ action: 'allow', message: 'x' })],
  ['has no message', () => ({ action: 'ask' })],
  ['has a timeout of 0', () => ({ action: 'ask', message: 'x', timeoutSeconds: 0 })],
  [
    'has a getter that throws',
    () => ({
      get action(): string {
        throw new Error('oops');
      },
    }),
  ],
  [
    'gives a broken promise',
    () => ({
      then: () => {
        throw new Error('oops');
      },
    }),
  ],
])('code that %s blocks, as a policy error', async (_title, check) => {
  const ruling = await policyOf([], undefined, [codeRule(check)]).judgeCall(sampleCall());
  expect(ruling).toMatchObject({ decision: 'block', decidedBy: { ruleId: 'code', policyError: true } });
});

test('facts about tools: a name beats a pattern, a later pattern beats an earlier one', () => {
  const tools: JsonValue = {
    Read: { side_effect: 'read' },
    '*': { side_effect: 'write', idempotent: false },
    'R*': { side_effect: 'pure' },
  };
  const policy = policyOfDocuments([documentOf([preRule('a', always)], { tools })]);
  expect(policy.toolFacts('Read')).toEqual({ sideEffect: 'read', idempotent: false });
  expect(policy.toolFacts('Rest')).toEqual({ sideEffect: 'pure', idempotent: false });
  expect(policy.toolFacts('Bash')).toEqual({ sideEffect: 'write', idempotent: false });
  expect(policyOf([preRule('a', always)]).toolFacts('Bash')).toEqual({
    sideEffect: 'irreversible',
    idempotent: undefined,
  });
});

test('a digest tells whether a rule says the same, in whatever document it is', () => {
  const one = policyOf([preRule('a', always), preRule('b', always)]);
  const other = policyOf([preRule('b', always), preRule('a', always, asks('Sure?'))]);
  expect(one.digestOf('b')).toBe(other.digestOf('b'));
  expect(one.digestOf('a')).not.toBe(other.digestOf('a'));
  expect(one.digestOf('c')).toBeUndefined();
  expect(policyOf([], undefined, [codeRule(() => undefined)]).digestOf('code')).toMatch(/^sha256:/);
});
