/** A ledger like the runtime's, made from the rules alone, for tests of code that reads ledgers. */
import type { Call } from '../packages/quittance/src/call/call.ts';
import type { Command } from '../packages/quittance/src/call/decide.ts';
import type { CallEvent, DecidedBy, QuittanceEvent } from '../packages/quittance/src/call/event.ts';
import type { ToolOutcome } from '../packages/quittance/src/call/outcome.ts';
import type { Entry } from '../packages/quittance/src/ledger/journal.ts';
import type { StoredEntry } from '../packages/quittance/src/ledger/stored-entry.ts';
import { decide } from '../packages/quittance/src/call/decide.ts';
import { evolve } from '../packages/quittance/src/call/evolve.ts';
import { outcomeToModelContent } from '../packages/quittance/src/call/model-content.ts';
import { chainHash, genesisHash } from '../packages/quittance/src/ledger/chain.ts';
import { writeEntry } from '../packages/quittance/src/ledger/formats/v1/write-entry.ts';

/** What can happen to a call, as the commands of each of its entries. */
export const stories = {
  read: [['request', 'allow', 'start', 'result']],
  write: [['request', 'allow', 'start'], ['result']],
  denied: [['request', 'deny', 'denied']],
  unknown: [['request', 'unknown']],
  approved: [['request', 'ask', 'hold'], ['approve'], ['allow', 'start'], ['result']],
  quorum: [['request', 'ask', 'hold_two'], ['first', 'remind'], ['second'], ['allow', 'start', 'result']],
  rejected: [
    ['request', 'ask', 'hold'],
    ['reject', 'rejected'],
  ],
  withdrawn: [
    ['request', 'ask', 'hold'],
    ['withdraw', 'ended'],
  ],
  timeout: [['request', 'allow', 'start'], ['timeout'], ['late'], ['resolve']],
  failure: [['request', 'allow', 'start'], ['failure']],
  retried: [['request', 'allow', 'start'], ['try'], ['again', 'start'], ['result']],
  artifact: [['request', 'allow', 'start'], ['artifact']],
  recalled: [['request', 'allow', 'start', 'result'], ['cached'], ['conflict']],
  copied: [['request', 'cached', 'result']],
  spilled: [
    ['request', 'allow', 'start'],
    ['result', 'unkept'],
  ],
  exhausted: [['request', 'exhaust', 'deny', 'denied']],
  open: [['request', 'allow', 'start']],
} as const satisfies { readonly [story: string]: readonly (readonly string[])[] };
export type Story = keyof typeof stories;
type Step = (typeof stories)[Story][number][number];

const remarks: ReadonlySet<string> = new Set(['late', 'cached', 'conflict']);

/** None of these was emitted by a behavior. */
export type MadeEntry = Omit<Entry, 'events'> & { readonly events: readonly QuittanceEvent[] };

export type Plan = { readonly session: string; readonly call: string; readonly story: Story };

/** The entries of these calls, interleaved: one entry of each, then the next. */
export function makeEntries(plans: readonly Plan[]): MadeEntry[] {
  const entries: MadeEntry[] = [];
  const calls = plans.map((plan) => ({ ...plan, state: undefined as Call | undefined, version: 0 }));
  let count = 0;
  const nextId = (): string => `e${count++}`;
  const opened = new Set<string>();
  for (let round = 0; round < 4; round++)
    for (const call of calls) {
      const steps: readonly Step[] | undefined = stories[call.story][round];
      if (steps === undefined) continue;
      const at = 1_790_000_000_000 + entries.length * 10;
      const subject = { sessionId: call.session, turnId: `t-${call.session}`, callId: call.call, at, nextId };
      const events: QuittanceEvent[] = [];
      if (!opened.has(call.session)) {
        opened.add(call.session);
        const { sessionId, turnId } = subject;
        events.push({
          id: nextId(),
          type: 'turn.opened',
          sessionId,
          turnId,
          at,
          cause: undefined,
          deadlineMs: undefined,
          parentSessionId: undefined,
          principal: { userId: 'ada' },
        });
      }
      for (const step of steps) {
        const decision = decide(call.state, commandOf(step, call), subject);
        if (!decision.ok) throw new Error(`${call.story}/${step}: ${decision.refusal}`);
        events.push(decision.event);
        call.state = evolve(call.state, decision.event);
      }
      const isRemark = call.version > 0 && steps.every((step) => remarks.has(step));
      entries.push({
        entryId: `n${entries.length}`,
        sessionId: call.session,
        callId: call.call,
        expectedVersion: isRemark ? 'any' : call.version,
        events,
      });
      if (!isRemark) call.version++;
    }
  return entries;
}

/** The same entries in their stored form. */
export function storeEntries(entries: readonly Entry[]): StoredEntry[] {
  const heads = new Map<string, { sequence: number; hash: string }>();
  let salts = 0;
  return entries.map((entry, index) => {
    const { sessionId } = entry;
    const before = heads.get(sessionId) ?? { sequence: 0, hash: genesisHash(sessionId) };
    const written = writeEntry(entry, 'own_1', () => `salt${salts++}`.padEnd(22, '0'));
    const sequence = before.sequence + 1;
    const hash = chainHash(before.hash, sequence, written.text);
    heads.set(sessionId, { sequence, hash });
    return { position: index + 1, sessionId, sequence, ...written, hash };
  });
}

/** Recomputes the chain, like an attacker who changed an entry and knows how. */
export function rechain(entries: readonly StoredEntry[]): StoredEntry[] {
  const heads = new Map<string, { sequence: number; hash: string }>();
  return entries.map((entry, index) => {
    const { sessionId, text } = entry;
    const before = heads.get(sessionId) ?? { sequence: 0, hash: genesisHash(sessionId) };
    const sequence = before.sequence + 1;
    const hash = chainHash(before.hash, sequence, text);
    heads.set(sessionId, { sequence, hash });
    return { ...entry, position: index + 1, sequence, hash };
  });
}

const ada = { type: 'person', name: 'Ada' } as const;
const digest = `sha256:${'ab'.repeat(32)}`;

const financier = (subject: string): DecidedBy => ({
  type: 'person',
  name: subject,
  identity: { kind: 'provider', issuer: 'https://id.example', subject, method: 'oidc', groups: ['finance'] },
  asker: 'other',
});

function commandOf(step: Step, { call: callId, state }: { call: string; state: Call | undefined }): Command {
  const settle = (outcome: ToolOutcome, final = true): Command => ({
    type: 'respond',
    final,
    outcome,
    content: outcomeToModelContent(outcome),
    toolSuccess: outcome.type === 'ToolExecutionResult',
    error: 'code' in outcome ? { reason: outcome.code, message: `Because of ${callId}.` } : undefined,
    payloadExtras: undefined,
    costMicros: 10,
    reached: [],
    log: [],
    rules: [],
    mayRerun: false,
    repeatIsSafe: false,
  });
  const rule = (decision: 'allow' | 'deny' | 'ask'): Command => ({
    type: 'rule',
    decision,
    gates: [{ gate: 'policy', elapsedUs: 12 }],
    decidedBy: { type: 'gate', name: 'policy' },
    policyVersion: undefined,
    effectiveInput: { name: `Effective ${callId}` },
    inputDigest: digest,
    changes: [],
    rules: [],
    sideEffect: undefined,
  });
  const confirmationId = `conf-${callId}`;
  const head = { callId, toolName: 'send_mail' } as const;
  const ran = { elapsedMs: 5, wasCoerced: false } as const;
  switch (step) {
    case 'request':
      return {
        type: 'request',
        toolName: 'send_mail',
        displayName: 'Send mail',
        mode: 'external',
        modeOrigin: 'declared',
        requestedInput: { name: `Requested ${callId}` },
        hidden: [],
        requestDigest: digest,
        principal: { userId: 'ada' },
        provenance: { provider: 'p', model: 'm' },
        attrs: undefined,
        submitted: false,
      };
    case 'allow':
    case 'deny':
    case 'ask':
      return rule(step);
    case 'hold':
      return {
        type: 'hold',
        confirmationId,
        description: 'May it?',
        asks: [{ by: { type: 'gate', name: 'mode' }, description: 'External.' }],
        inputDigest: digest,
      };
    case 'hold_two':
      return {
        type: 'hold',
        confirmationId,
        description: 'May it?',
        asks: [
          {
            by: { type: 'rule', name: 'big' },
            description: 'Two of finance.',
            approval: { seats: [{ groups: ['finance'], quorum: 2 }], exclude: ['asker'], reminders: [1] },
          },
        ],
        inputDigest: digest,
      };
    case 'first':
      return {
        type: 'vote',
        confirmationId,
        decision: 'approve',
        by: financier('eve'),
        reason: undefined,
        inputDigest: digest,
      };
    case 'remind':
      return {
        type: 'remind',
        confirmationId,
        kind: 'reminder',
        dueAt: 1_790_000_000_000,
        missing: ['1 of group finance'],
      };
    case 'second':
      return {
        type: 'answer',
        confirmationId,
        decision: 'approve',
        by: financier('dan'),
        reason: undefined,
        inputDigest: digest,
      };
    case 'approve':
      return {
        type: 'answer',
        confirmationId,
        decision: 'approve',
        by: ada,
        reason: undefined,
        inputDigest: digest,
      };
    case 'reject':
      return {
        type: 'answer',
        confirmationId,
        decision: 'deny',
        by: ada,
        reason: 'No.',
        inputDigest: digest,
      };
    case 'withdraw':
      return { type: 'withdraw', confirmationId, reason: 'The turn ended.' };
    case 'exhaust':
      return { type: 'exhaust', scope: 'session', metric: 'tool_calls', limit: 1, used: 1 };
    case 'start':
      return {
        type: 'start',
        idempotencyKey: undefined,
        deadlineMs: 1_790_000_300_000,
        mayRerun: false,
        reserved: [],
      };
    case 'result':
      return settle({
        type: 'ToolExecutionResult',
        ...head,
        ...ran,
        output: { sent: `To ${callId}`, attempt: state?.attempt ?? 0 },
      });
    case 'artifact':
      return settle({
        type: 'ToolArtifactReference',
        ...head,
        ...ran,
        artifactId: 'art_1',
        summary: 'Long.',
        sizeBytes: 99,
      });
    case 'timeout':
      return settle({
        type: 'ToolTimeout',
        ...head,
        code: 'tool.timeout',
        deadlineMs: 1_790_000_300_000,
        elapsedMs: 300_000,
        retryable: true,
      });
    case 'failure':
      return settle({
        type: 'ToolFailure',
        ...head,
        code: 'tool.network_error',
        error: 'No route.',
        retryable: true,
        elapsedMs: 3,
      });
    case 'try':
      return settle(
        {
          type: 'ToolFailure',
          ...head,
          code: 'tool.network_error',
          error: 'No route.',
          retryable: true,
          elapsedMs: 3,
        },
        false,
      );
    case 'again':
      return {
        type: 'try_again',
        forEvent: state?.failed?.id ?? '',
        attempt: (state?.attempt ?? 0) + 1,
        notBefore: undefined,
        by: 'retry',
      };
    case 'unknown':
      return settle({
        type: 'ToolFailure',
        ...head,
        code: 'tool.unknown',
        error: 'No such tool.',
        retryable: false,
        elapsedMs: 0,
      });
    case 'denied':
      return settle({
        type: 'ToolDenied',
        ...head,
        code: 'policy.hook',
        reason: 'pre_hook',
        details: `Not ${callId}.`,
      });
    case 'rejected':
      return settle({
        type: 'ToolDenied',
        ...head,
        code: 'confirmation.rejected',
        reason: 'write_denied',
        details: 'Denied by Ada.',
      });
    case 'ended':
      return settle({ type: 'ToolDenied', ...head, code: 'turn.ended', reason: 'ended', details: '' });
    case 'late':
      return {
        type: 'add_late',
        attempt: 1,
        elapsedMs: 400_000,
        result: { type: 'returned', output: { sent: true } },
      };
    case 'resolve':
      return { type: 'resolve', resolution: 'succeeded', by: ada, reason: 'Seen.', result: undefined };
    case 'cached':
    case 'conflict':
      return { type: 'recall', how: step, fromCallId: callId, details: 'Asked again.' };
    case 'unkept':
      return { type: 'fail_to_persist', boundary: 'settle', error: 'The disk was full.', keptIn: 'spill' };
  }
}

/** Events of one call among entries. */
export const eventsOf = (entries: readonly Entry[], callId: string): CallEvent[] =>
  entries.flatMap(({ events }) =>
    events.filter((event): event is CallEvent => 'callId' in event && event.callId === callId),
  );
