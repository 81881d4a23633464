/** Any possible event and entry, for property tests of storage. */
import { toolRisks } from '../packages/quittance/src/tool/name-words.ts';
import fc from 'fast-check';
import type { EmittedEvent } from '../packages/quittance/src/call/emitted-event.ts';
import type { CallEvent, Identity, QuittanceEvent } from '../packages/quittance/src/call/event.ts';
import type { HiddenId, ToolRequested } from '../packages/quittance/src/call/events/gate-event.ts';
import type { FallenVote } from '../packages/quittance/src/call/vote.ts';
import type { Entry } from '../packages/quittance/src/ledger/journal.ts';
import { outcomeToModelContent } from '../packages/quittance/src/call/model-content.ts';
import { reasonCodes } from '../packages/quittance/src/call/reason.ts';
import { anyJson, anyJsonObject, anyOutcome, anyText } from './arbitrary-outcome.ts';

const maybe = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined });
const word = fc.oneof(fc.string({ minLength: 1, maxLength: 12 }), anyText);
const count = fc.nat();
const instant = fc.integer({ min: 0, max: 253_402_300_799_999 });
const code = fc.constantFrom(...reasonCodes);
const principal = fc.record(
  { userId: word, serviceId: word, orgId: word, role: word, ticketRef: word, claims: anyJsonObject },
  { requiredKeys: [] },
);
const direct = fc.oneof(
  fc.record(
    {
      kind: fc.constant('token' as const),
      id: word,
      name: word,
      via: fc.constantFrom('bearer', 'browser'),
      person: word,
      groups: fc.array(word),
      roles: fc.array(word),
    },
    { requiredKeys: ['kind', 'id', 'name', 'via'] },
  ),
  fc.record(
    { kind: fc.constant('os_user' as const), user: word, uid: count },
    { requiredKeys: ['kind', 'user'] },
  ),
  fc.record(
    {
      kind: fc.constant('provider' as const),
      issuer: word,
      subject: word,
      method: word,
      name: word,
      aliases: fc.array(word),
      at: count,
      groups: fc.array(word),
      roles: fc.array(word),
    },
    { requiredKeys: ['kind', 'issuer', 'subject', 'method'] },
  ),
  fc.record({ kind: fc.constant('self_asserted' as const) }),
);
const identity: fc.Arbitrary<Identity> = fc.oneof(
  direct,
  fc.record({
    kind: fc.constant('link' as const),
    maker: fc.oneof(
      fc.record({ kind: fc.constant('service' as const) }),
      fc.record({ kind: fc.constant('person' as const), name: word, identity: direct }),
    ),
    holder: fc.oneof(
      fc.record({ kind: fc.constant('named' as const) }),
      fc.record({ kind: fc.constant('typed' as const), name: word }),
      fc.record({ kind: fc.constant('signed_in' as const), identity: direct }),
    ),
  }),
);
/** An event that may have an identity; older ones have none. */
const identified = <Event extends object>(
  event: fc.Arbitrary<Event>,
): fc.Arbitrary<Event & { identity?: Identity }> =>
  fc
    .tuple(event, maybe(identity))
    .map(([each, how]) => (how === undefined ? each : { ...each, identity: how }));
const traceparent = fc
  .tuple(fc.uuid(), fc.boolean())
  .map(([id, sampled]) => `00-${id.replaceAll('-', '')}-${id.slice(-12)}0123-0${sampled ? 1 : 0}`);
const hiddenIds = fc.uniqueArray(fc.constantFrom<HiddenId>('session', 'call', 'tool', 'owner'), {
  minLength: 1,
});
const turnBudget = fc.record({
  scope: word,
  counter: word,
  perDay: fc.boolean(),
  metric: fc.constantFrom('tool_calls' as const, 'cost_micros' as const),
  limit: count,
});
type Optional = Pick<
  ToolRequested,
  'askedBy' | 'separateDuties' | 'hiddenIds' | 'budgets' | 'turnDeadlineMs' | 'risk'
>;
const asked = <Event extends object>(event: fc.Arbitrary<Event>): fc.Arbitrary<Event & Optional> =>
  fc
    .tuple(
      event,
      maybe(identity),
      fc.boolean(),
      maybe(hiddenIds),
      maybe(fc.array(turnBudget, { minLength: 1, maxLength: 2 })),
      maybe(instant),
      maybe(fc.constantFrom(...toolRisks)),
    )
    .map(([each, askedBy, separate, ids, budgets, turnDeadlineMs, risk]) => ({
      ...each,
      ...(askedBy !== undefined && { askedBy }),
      ...(ids !== undefined && { hiddenIds: ids }),
      ...(separate && { separateDuties: true as const }),
      ...(budgets !== undefined && { budgets }),
      ...(turnDeadlineMs !== undefined && { turnDeadlineMs }),
      ...(risk !== undefined && { risk }),
    }));
const decidedBy = fc.record(
  {
    type: fc.constantFrom('gate' as const, 'hook' as const, 'rule' as const, 'person' as const),
    name: word,
    identity,
    asker: fc.constantFrom('other' as const, 'same' as const, 'unknown' as const),
    notReadToEnd: fc.constant(true as const),
    owner: fc.constantFrom('other' as const, 'same' as const, 'unknown' as const),
    behalf: fc.array(fc.record({ delegation: word, name: word, identity: direct, until: instant }), {
      maxLength: 2,
    }),
    link: fc.record({ by: word, typed: word }, { requiredKeys: ['by'] }),
  },
  { requiredKeys: ['type', 'name'] },
);

const envelope = <Type extends QuittanceEvent['type']>(
  type: Type,
): {
  type: fc.Arbitrary<Type>;
  id: fc.Arbitrary<string>;
  sessionId: fc.Arbitrary<string>;
  turnId: fc.Arbitrary<string>;
  at: fc.Arbitrary<number>;
  cause: fc.Arbitrary<string | undefined>;
} => ({
  type: fc.constant(type),
  id: word,
  sessionId: fc.constant('s'),
  turnId: word,
  at: instant,
  cause: maybe(word),
});
const ofCall = <Type extends CallEvent['type']>(
  type: Type,
): ReturnType<typeof envelope<Type>> & { callId: fc.Arbitrary<string> } => ({
  ...envelope(type),
  callId: fc.constant('c'),
});

const artifactArguments = fc.array(
  fc.record({
    path: fc.array(fc.oneof(word, count), { maxLength: 3 }),
    artifactId: word,
    digest: word,
    sizeBytes: count,
    mimeType: word,
    preview: anyText,
    inPlace: fc.boolean(),
  }),
  { maxLength: 2 },
);
const ruleMarks = fc.array(
  fc.record(
    {
      ruleId: word,
      action: fc.constantFrom('block', 'ask', 'warn', 'redact'),
      message: anyText,
      tags: fc.array(word, { maxLength: 2 }),
      metadata: anyJsonObject,
      observed: fc.constant(true as const),
      policyError: fc.constant(true as const),
    },
    { requiredKeys: ['ruleId', 'action', 'message'] },
  ),
  { maxLength: 2 },
);
const ofWorkflow = { workflow: word, workflowVersion: maybe(word), state: anyJsonObject };

const responded = fc
  .record({
    ...ofCall('tool.responded'),
    attempt: count,
    final: fc.boolean(),
    outcome: anyOutcome,
    sameCall: fc.boolean(),
    told: fc.oneof(fc.constant(undefined), anyText),
    toolSuccess: maybe(fc.boolean()),
    error: maybe(fc.record({ reason: code, message: anyText })),
    payloadExtras: maybe(anyJsonObject),
    costMicros: fc.oneof(fc.constant(0), count),
    reached: fc.array(anyText, { maxLength: 2 }),
    log: fc.array(
      fc.record(
        { at: instant, message: anyText, fields: anyJsonObject },
        { requiredKeys: ['at', 'message'] },
      ),
      { maxLength: 2 },
    ),
    unsettledEffect: fc.boolean(),
    rules: ruleMarks,
  })
  .map(({ told, sameCall, ...event }) => {
    const outcome = sameCall ? { ...event.outcome, callId: event.callId } : event.outcome;
    return { ...event, outcome, content: told ?? outcomeToModelContent(outcome) };
  });

const approvers = {
  roles: fc.array(word, { maxLength: 2 }),
  groups: fc.array(word, { maxLength: 2 }),
  people: fc.array(word, { maxLength: 2 }),
};
const approval = fc.record(
  {
    seats: fc.array(
      fc.record(
        {
          ...approvers,
          quorum: count,
          escalate: fc.array(fc.record({ after: count, ...approvers }, { requiredKeys: ['after'] }), {
            maxLength: 2,
          }),
        },
        { requiredKeys: ['quorum'] },
      ),
      { minLength: 1, maxLength: 2 },
    ),
    shared: fc.constant(true as const),
    exclude: fc.uniqueArray(fc.constantFrom('asker' as const, 'session_owner' as const)),
    denials: count,
    delegation: fc.constantFrom('none' as const, 'chain' as const),
    reminders: fc.array(count, { maxLength: 2 }),
  },
  { requiredKeys: ['seats'] },
);
const comparison = maybe(
  fc.record({
    callId: word,
    at: instant,
    fields: fc.array(fc.record({ name: anyText, before: anyJson, after: anyJson }), { maxLength: 2 }),
    more: count,
  }),
);

const ask = fc.record(
  { by: decidedBy, description: anyText, code, approval },
  { requiredKeys: ['by', 'description'] },
);
const bounded = <Event extends object>(
  event: fc.Arbitrary<Event>,
): fc.Arbitrary<Event & { session?: { until: number; uses: number } }> =>
  fc
    .tuple(event, maybe(fc.record({ until: instant, uses: count })))
    .map(([each, session]) => (session === undefined ? each : { ...each, session }));
const withFallen = <Event extends object>(
  event: fc.Arbitrary<Event>,
): fc.Arbitrary<Event & { session?: { until: number; uses: number }; fallen?: readonly FallenVote[] }> => {
  const decision = fc.constantFrom('approve' as const, 'deny' as const, 'edit' as const);
  const fallen = fc.record({ by: decidedBy, decision, at: instant, why: anyText });
  return fc
    .tuple(bounded(event), maybe(fc.array(fallen, { minLength: 1, maxLength: 2 })))
    .map(([each, votes]) => (votes === undefined ? each : { ...each, fallen: votes }));
};
const edits = {
  editedInput: maybe(anyJsonObject),
  editedDigest: maybe(word),
  editedHidden: fc.array(word, { maxLength: 2 }),
  editedForm: maybe(fc.constantFrom('json' as const, 'typed' as const)),
  editedAccepted: maybe(anyJsonObject),
  editedArtifacts: artifactArguments,
};

export const anyEvent: fc.Arbitrary<QuittanceEvent> = fc.oneof(
  { weight: 4, arbitrary: responded },
  asked(
    fc.record({
      ...ofCall('tool.requested'),
      toolName: word,
      displayName: anyText,
      mode: fc.constantFrom('read', 'safe_write', 'destructive', 'local', 'external'),
      modeOrigin: fc.constantFrom('declared', 'inferred', 'default'),
      requestedInput: anyJson,
      hidden: fc.array(anyText, { maxLength: 2 }),
      requestDigest: word,
      principal: maybe(principal),
      provenance: maybe(fc.record({ provider: word, model: word }, { requiredKeys: [] })),
      attrs: maybe(anyJsonObject),
      submitted: fc.boolean(),
      schemaDigest: maybe(word),
      traceparent: maybe(traceparent),
    }),
  ),
  fc.record({
    ...ofCall('tool.recalled'),
    how: fc.constantFrom('cached', 'replayed', 'conflict'),
    fromCallId: word,
    details: anyText,
  }),
  fc.record({
    ...ofCall('tool.decided'),
    decision: fc.constantFrom('allow', 'deny', 'ask'),
    gates: fc.array(fc.record({ gate: word, elapsedUs: count }), { maxLength: 2 }),
    decidedBy: maybe(decidedBy),
    policyVersion: maybe(word),
    effectiveInput: maybe(anyJsonObject),
    inputDigest: maybe(word),
    inputForm: maybe(fc.constantFrom('json', 'typed')),
    acceptedInput: maybe(anyJsonObject),
    artifacts: artifactArguments,
    changes: fc.array(fc.record({ path: anyText, rule: word }), { maxLength: 2 }),
    rules: ruleMarks,
    grantId: maybe(word),
    sideEffect: maybe(word),
    comparison,
  }),
  fc.record({
    ...ofCall('tool.held'),
    confirmationId: word,
    description: anyText,
    asks: fc.array(ask, { maxLength: 2 }),
    inputDigest: word,
    revision: maybe(count),
    expiresAt: maybe(instant),
    timeoutEffect: fc.constantFrom('block', 'allow'),
    risk: fc.array(word, { maxLength: 2 }),
    schemaDigest: maybe(word),
    comparison: comparison,
    supersedes: maybe(fc.record({ sessionId: word, callId: word })),
  }),
  fc.record({
    ...ofCall('tool.previewed'),
    operationId: word,
    revision: count,
    ready: fc.boolean(),
    preview: fc.oneof(
      fc.record({ kind: fc.constant('text' as const), text: anyText }),
      fc.record({ kind: fc.constant('diff' as const), path: anyText, diff: anyText }),
    ),
    snapshot: anyJsonObject,
    hidden: fc.array(anyText, { maxLength: 2 }),
    inputDigest: word,
    expiresAt: maybe(instant),
  }),
  fc.record({
    ...ofCall('confirmation.expired'),
    confirmationId: word,
    effect: fc.constantFrom('block', 'allow'),
    by: maybe(decidedBy),
  }),
  identified(
    fc.record({
      ...ofCall('tool.reported'),
      attempt: count,
      worker: word,
      what: fc.oneof(
        fc.record({ type: fc.constantFrom('given' as const, 'differs' as const), digest: word }),
        fc.record({ type: fc.constant('claimed' as const), expiresAt: instant, tokenDigest: word }),
      ),
    }),
  ),
  fc.record({ ...ofCall('tool.taken_over'), previousOwner: word, takeover: count }),
  fc.record({ ...ofCall('tool.undone'), undoCallId: word, by: decidedBy, reason: maybe(anyText) }),
  identified(fc.record({ ...envelope('grant.given'), grantId: word, by: word, state: anyJsonObject })),
  identified(
    fc.record({
      ...envelope('grant.revoked'),
      grantId: word,
      by: word,
      reason: maybe(anyText),
      state: anyJsonObject,
    }),
  ),
  withFallen(
    fc.record({
      ...ofCall('confirmation.decided'),
      confirmationId: word,
      decision: fc.constantFrom('approve', 'deny', 'edit', 'respond'),
      by: decidedBy,
      reason: maybe(anyText),
      inputDigest: word,
      revision: maybe(count),
      ...edits,
      response: maybe(anyText),
      receivedAt: maybe(instant),
    }),
  ),
  withFallen(
    fc.record({
      ...ofCall('confirmation.voted'),
      confirmationId: word,
      decision: fc.constantFrom('approve', 'deny', 'edit'),
      by: decidedBy,
      reason: maybe(anyText),
      inputDigest: word,
      revision: maybe(count),
      ...edits,
    }),
  ),
  fc.record({
    ...ofCall('confirmation.reminded'),
    confirmationId: word,
    kind: fc.constantFrom('reminder', 'escalation'),
    dueAt: instant,
    missing: fc.array(word, { maxLength: 2 }),
  }),
  fc.record({
    ...envelope('delegation.given'),
    delegationId: word,
    by: word,
    identity: direct,
    to: word,
    until: instant,
    reason: maybe(anyText),
    state: anyJsonObject,
  }),
  identified(
    fc.record({
      ...envelope('delegation.revoked'),
      delegationId: word,
      by: word,
      reason: maybe(anyText),
      state: anyJsonObject,
    }),
  ),
  fc.record({ ...ofCall('confirmation.withdrawn'), confirmationId: word, reason: anyText }),
  fc.record({
    ...ofCall('tool.started'),
    attempt: count,
    idempotencyKey: maybe(word),
    deadlineMs: instant,
    mayRerun: fc.boolean(),
    handoff: fc.boolean(),
    stages: fc.array(fc.record({ workflow: word, stageId: word }), { maxLength: 2 }),
    reserved: fc.array(
      fc.record({
        counter: word,
        amount: count,
        metric: fc.constantFrom('tool_calls' as const, 'cost_micros' as const),
      }),
      { maxLength: 2 },
    ),
  }),
  fc.record({
    ...ofCall('tool.late'),
    attempt: count,
    elapsedMs: count,
    result: fc.oneof(
      fc.record(
        { type: fc.constant('returned' as const), output: anyJson, cutFromChars: count },
        { requiredKeys: ['type', 'output'] },
      ),
      fc.record({ type: fc.constant('threw' as const), error: anyText }),
    ),
  }),
  fc.record({
    ...ofCall('tool.resolved'),
    resolution: fc.constantFrom('succeeded', 'failed', 'safe_to_retry'),
    by: decidedBy,
    reason: maybe(anyText),
    result: maybe(anyJson),
  }),
  fc.record({
    ...ofCall('persistence.failed'),
    boundary: fc.constantFrom('intent', 'settle'),
    result: maybe(anyJson),
    error: anyText,
    keptIn: fc.constantFrom('spill', 'nowhere'),
  }),
  fc.record({
    ...envelope('call.not_accepted'),
    refusedCallId: word,
    toolName: word,
    mode: fc.constantFrom('read', 'external'),
    modeOrigin: fc.constantFrom('declared', 'default'),
    principal: maybe(fc.record({ userId: word })),
    boundary: fc.constantFrom('request', 'intent', 'hold'),
    error: anyText,
    failedAt: instant,
  }),
  fc.record({
    ...envelope('persistence.unlisted'),
    count,
    firstAt: instant,
    lastAt: instant,
    error: anyText,
  }),
  fc.record({
    ...ofCall('runtime.budget_exhausted'),
    scope: word,
    metric: fc.constantFrom('tool_calls', 'cost_micros'),
    limit: count,
    used: count,
  }),
  fc.record({
    ...ofCall('retry.requested'),
    forEvent: word,
    forCallId: maybe(word),
    attempt: count,
    notBefore: maybe(instant),
    by: word,
    behavior: maybe(word),
  }),
  fc.record({
    ...envelope('behavior.failed'),
    behavior: word,
    reason: fc.oneof(code, fc.constantFrom('behavior.error', 'behavior.timeout', 'behavior.depth')),
    message: anyText,
    attempt: count,
    triggeringEventId: word,
    triggeringCallId: maybe(word),
    payloadExtras: maybe(anyJsonObject),
  }),
  fc.record({
    ...envelope('session.forked'),
    fromSessionId: word,
    atCallId: maybe(word),
    position: count,
    after: fc.constantFrom('live', 'recorded', 'dry'),
  }),
  fc.record({
    ...envelope('turn.opened'),
    deadlineMs: maybe(instant),
    parentSessionId: maybe(word),
    principal: maybe(principal),
  }),
  fc.record({ ...envelope('turn.ended'), why: fc.constantFrom('asked', 'terminal_result') }),
  fc.record({
    ...envelope('workflow.advanced'),
    ...ofWorkflow,
    stageId: word,
    toStageId: word,
  }),
  identified(
    fc.record({
      ...envelope('workflow.updated'),
      ...ofWorkflow,
      why: fc.constantFrom('evidence', 'approval', 'stopped', 'resumed', 'reset', 'stage_set'),
      by: maybe(word),
    }),
  ),
  fc.record({ ...envelope('workflow.completed'), ...ofWorkflow, stageId: word }),
  fc.record({
    ...envelope('contracts.loaded'),
    policyVersion: word,
    workingDirectory: word,
    documents: fc.array(
      fc.record({ name: word, stamp: word, text: anyText }, { requiredKeys: ['name', 'stamp'] }),
      { maxLength: 2 },
    ),
  }),
  identified(
    fc.record({
      ...envelope('body.erased'),
      entryIds: fc.array(word, { maxLength: 3 }),
      by: word,
      reason: anyText,
    }),
  ),
  identified(
    fc.record({
      ...envelope('session.dropped'),
      droppedSessionId: word,
      sequence: count,
      hash: word,
      by: word,
      reason: anyText,
    }),
  ),
  identified(
    fc.record({
      ...envelope('session.dropped'),
      droppedSessionId: word,
      sequence: count,
      hash: word,
      by: word,
      reason: anyText,
    }),
  ),
);

/** An event of a custom type that a behavior emitted. */
export const anyEmitted: fc.Arbitrary<EmittedEvent> = fc.record({
  id: word,
  type: fc.stringMatching(/^x[a-z0-9_]{0,9}(\.[a-z0-9_]{1,9}){1,3}$/),
  sessionId: fc.oneof(fc.constant('s'), word),
  turnId: word,
  callId: fc.oneof(fc.constant('c'), fc.constant(undefined), word),
  at: instant,
  cause: maybe(word),
  by: word,
  data: anyJsonObject,
});

export const anyEntry: fc.Arbitrary<Entry> = fc.record(
  {
    entryId: word,
    sessionId: fc.oneof(fc.constant('s'), word),
    callId: fc.oneof(fc.constant('c'), fc.constant(undefined), word),
    expectedVersion: fc.oneof(count, fc.constant('any' as const)),
    events: fc.array(fc.oneof({ weight: 5, arbitrary: anyEvent }, anyEmitted), { maxLength: 4 }),
    claim: fc.record(
      { key: word, inputDigest: word, supersedes: fc.record({ sessionId: word, callId: word }) },
      { requiredKeys: ['key', 'inputDigest'] },
    ),
    releaseClaim: word,
    reserve: fc.array(fc.record({ counter: word, amount: count, limit: count }), { maxLength: 2 }),
    moves: fc.array(fc.record({ subject: word, expectedVersion: count }), { minLength: 1, maxLength: 2 }),
    settle: fc.array(fc.record({ counter: word, reserved: count, used: count }), { maxLength: 2 }),
    depth: fc.integer({ min: 1, max: 99 }),
  },
  { requiredKeys: ['entryId', 'sessionId', 'callId', 'expectedVersion', 'events'] },
);
