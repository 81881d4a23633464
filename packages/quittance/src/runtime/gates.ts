/**
 * The ordered list of gates, the code that passes a call through them, and the end of a call that a gate stops. Recall
 * comes before the gates. The approval, the claim and the intent come after them.
 */
import {
  blockedGate,
  deadlineGate,
  duplicateGate,
  keyGate,
  limitsGate,
  ownFilesGate,
  policyGate,
  resolveGate,
  undoGate,
  validate,
  turnIsOver,
} from './gate-checks.ts';
import type { EntryGate, Gate, ActiveCall, CheckedCall, Findings, Stop, Verdict } from './active-call.ts';
import { previewGate, snapshotGate } from './preview.ts';
import { withInput } from './active-call.ts';
import type { ResolvedCall } from './gate-checks.ts';
import type { JsonObject } from '../base/json.ts';
import type { DecidedBy } from '../call/events/gate-event.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { keepSteps } from './contract-rules.ts';
import { copyOutcome, settleStopped } from './settle.ts';
import { isStale } from './recorded-input.ts';

/** Gates before the input is validated. */
const entryGates: readonly EntryGate[] = [resolveGate, deadlineGate, blockedGate];

/** Gates after the input is validated. */
export const gates: readonly Gate[] = [
  undoGate,
  duplicateGate,
  policyGate,
  ownFilesGate,
  keyGate,
  limitsGate,
  previewGate,
];

/** The names of all gates of a new call, in order. Validation of the input comes between the two lists. */
export const gateNames: readonly string[] = [
  ...entryGates.map(({ name }) => name),
  'validate',
  ...gates.map(({ name }) => name),
];

/**
 * Gates after an approval, which skips no check. The approved input is used as it is: the schema does not
 * check it again.
 */
export const gatesAfterApproval: readonly Gate[] = [
  undoGate,
  snapshotGate,
  policyGate,
  ownFilesGate,
  limitsGate,
  previewGate,
];

/** Gates after an approval with edited arguments. */
export const gatesForOtherInput: readonly Gate[] = [
  undoGate,
  duplicateGate,
  snapshotGate,
  policyGate,
  ownFilesGate,
  keyGate,
  limitsGate,
  previewGate,
];

/** A call that has passed the gates, or a stopped call with its findings so far. */
type Passed =
  | { readonly type: 'passed'; readonly active: CheckedCall }
  | { readonly type: 'stopped'; readonly active: ActiveCall; readonly stop: Stop };

/** Passes a new call through the entry gates, the validation of its input, and the given gates. */
export async function passGates(active: ActiveCall, order: readonly Gate[]): Promise<Passed> {
  for (const { name, check } of entryGates) {
    const stop = check(active) ?? stopIfCancelled(active);
    if (stop !== undefined) return { type: 'stopped', active: { ...active, lastGate: name }, stop };
  }
  const resolved = active as ResolvedCall; // the first entry gate resolves the tool
  const { answer, seen } = await passOne(active, 'validate', () => validate(resolved), false);
  const validated = { ...active, ...seen };
  if (answer.type !== 'ready') return { type: 'stopped', active: validated, stop: answer };
  const checked = withInput(validated, resolved.tool, answer.input, answer.notes);
  const stop = stopIfCancelled(active);
  return stop === undefined ? passInOrder(checked, order, false) : { type: 'stopped', active: checked, stop };
}

/** Passes gates again, after an approval or before another attempt. The turn's deadline no longer applies. */
export const recheck = (active: CheckedCall, order: readonly Gate[]): Promise<Passed> =>
  passInOrder(active, order, true);

async function passInOrder(
  first: CheckedCall,
  order: readonly Gate[],
  deadlineLifted: boolean,
): Promise<Passed> {
  let active = first;
  for (const { name, check } of order) {
    const { answer, seen } = await passOne<Verdict>(active, name, () => check(active), deadlineLifted);
    const hasFindings = answer?.type === 'found' || answer?.type === 'stopped';
    active = { ...active, ...seen, ...(hasFindings && answer.found) };
    const stop = stopOf(answer);
    if (stop !== undefined) return { type: 'stopped', active, stop };
  }
  return { type: 'passed', active };
}

const stopOf = (verdict: Verdict): Stop | undefined =>
  verdict === undefined || verdict.type === 'found'
    ? undefined
    : verdict.type === 'stopped'
      ? verdict.stop
      : verdict;

const stopIfCancelled = ({ signals: { cancelled } }: ActiveCall): Stop | undefined =>
  cancelled === undefined ? undefined : cancelStop(cancelled);

/** A shorter wait is not recorded. */
const shortestRecordedMs = 1;

/** Waits for one gate, unless the call is cancelled or its turn ends first. */
async function passOne<Answer>(
  active: ActiveCall,
  gate: string,
  check: () => Promise<Answer>,
  deadlineLifted: boolean,
): Promise<{ readonly answer: Answer | Stop; readonly seen: Pick<Findings, 'passages' | 'lastGate'> }> {
  const { clock } = active.engine;
  const startedAtMs = clock.monotonicMs();
  const waited = await waitUnlessEnded(active, check(), deadlineLifted);
  const elapsedMs = clock.monotonicMs() - startedAtMs;
  // An abandoned preview must not write while the call ends.
  if (waited.type === 'stopped') active.signals.abandon?.();
  const passages =
    elapsedMs < shortestRecordedMs
      ? active.passages
      : [...active.passages, { gate, elapsedUs: Math.round(elapsedMs * 1_000) }];
  return {
    answer: waited.type === 'stopped' ? waited.stop : waited.value,
    seen: { passages, lastGate: gate },
  };
}

/** Ends a call that a gate has stopped. */
export function endAtGate(active: ActiveCall, stop: Stop): Promise<ToolOutcome> {
  recordRuling(active, stop);
  return stop.type === 'copy' ? copyOutcome(active, stop.from) : settleStopped(active, stop);
}

/** Records what the gates found. */
export function recordRuling(active: ActiveCall, stop: Stop | undefined): void {
  const { input, requested, policy, asks, workflowSteps, grant, comparison, journal } = active;
  const effective = input?.effective;
  const decision = stop !== undefined && stop.type !== 'copy' ? 'deny' : asks.length > 0 ? 'ask' : 'allow';
  if (workflowSteps.length > 0) keepSteps(active, workflowSteps, decision);
  journal.apply({
    type: 'rule',
    decision,
    gates: active.passages,
    decidedBy: decision === 'allow' ? giverOf(active) : deciderOf(active, stop),
    policyVersion: policy?.version,
    // Redacting an object gives an object.
    effectiveInput:
      effective === undefined || effective.kept === requested.kept
        ? undefined
        : (effective.kept as JsonObject),
    inputDigest: effective?.digest,
    inputForm: input?.form,
    acceptedInput: input?.acceptedKept,
    artifacts: input?.artifacts ?? [],
    changes: input?.changes ?? [],
    rules: active.rules,
    grantId: decision === 'allow' ? grant?.grant.grantId : undefined,
    sideEffect: policy?.toolFacts(active.request.name).sideEffect,
    comparison: decision === 'allow' && comparison !== 'none' ? comparison : undefined,
  });
  if (stop?.type === 'deny' && stop.exhausted !== undefined)
    journal.apply({ type: 'exhaust', ...stop.exhausted });
}

/** The person whose grant let the call pass. */
const giverOf = ({ grant }: ActiveCall): DecidedBy | undefined =>
  grant === undefined
    ? undefined
    : {
        type: 'person',
        name: grant.grant.by,
        ...(grant.grant.identity !== undefined && { identity: grant.grant.identity }),
      };

const deciderOf = ({ asks, lastGate }: ActiveCall, stop: Stop | undefined): DecidedBy | undefined => {
  if (stop === undefined) return asks[0]?.by;
  return (stop.type === 'deny' ? stop.by : undefined) ?? { type: 'gate', name: lastGate };
};

/** Checks again for a cancellation, a stale preview and the end of the turn, after the gates and the wait for a slot. */
export function finalCheck(active: CheckedCall, deadlineLifted: boolean): Stop | undefined {
  if (active.signals.cancelled !== undefined) return cancelStop(active.signals.cancelled);
  if (isStale(active))
    return {
      type: 'deny',
      reason: 'expired',
      code: 'confirmation.expired',
      details: 'The preview expired before the call could run.',
    };
  return deadlineLifted ? undefined : turnIsOver(active);
}

export const cancelStop = (reason: string): Stop & { type: 'fail' } => ({
  type: 'fail',
  code: 'tool.cancelled',
  error: `The call was cancelled before it ran: ${reason}.`,
});

type Waited<Value> =
  | { readonly type: 'answered'; readonly value: Value }
  | { readonly type: 'stopped'; readonly stop: Stop };

/**
 * Waits for a check before the body, unless the call is cancelled or its turn ends first. After an approval the
 * turn's deadline no longer applies. Code of the host has its own time limit, `answerLimitMs`.
 */
export function waitUnlessEnded<Value>(
  active: ActiveCall,
  awaited: Promise<Value>,
  deadlineLifted: boolean,
): Promise<Waited<Value>> {
  const { engine, turn, signals } = active;
  const leftMs = deadlineLifted ? Number.POSITIVE_INFINITY : turn.deadlineAtMs - engine.clock.monotonicMs();
  return new Promise((resolve, reject) => {
    let waiting = true;
    const finish = (deliver: () => void): void => {
      if (!waiting) return;
      waiting = false;
      watch?.stop();
      signals.onCancel = undefined;
      deliver();
    };
    const giveUp = (stop: Stop | undefined): void => {
      if (stop !== undefined) finish(() => resolve({ type: 'stopped', stop }));
    };
    const watch =
      leftMs === Number.POSITIVE_INFINITY
        ? undefined
        : engine.deadlines.watch(Math.max(0, leftMs), () => giveUp(turnIsOver(active)));
    signals.onCancel = () => giveUp(cancelStop(signals.cancelled ?? 'cancelled'));
    if (signals.cancelled !== undefined) signals.onCancel();
    awaited.then(
      (value) => finish(() => resolve({ type: 'answered', value })),
      (error: unknown) => finish(() => reject(error as Error)),
    );
  });
}
