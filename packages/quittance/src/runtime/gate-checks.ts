/** The gates: each checks one call and passes, denies, fails or holds it. `gates.ts` has their order. */
import { describeUnknownName } from '../base/nearest.ts';
import type {
  EntryGate,
  ActiveCall,
  Stop,
  Gate,
  CheckedCall,
  Findings,
  Verdict,
  BoundKey,
  GateFindings,
  WorkflowStep,
} from './active-call.ts';
import type { DecidedBy, InputChange } from '../call/events/gate-event.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import { readUndoAttrs } from './undo-tool.ts';
import { whyNotUndo, wasWrittenSince } from './undo-request.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject, freezeJson } from '../base/json.ts';
import { readLenientJson } from '../base/lenient-json.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { SchemaIssue } from '../tool/schema-issue.ts';
import type { RequestedInput, RepairTries } from './accept-input.ts';
import { acceptInput, noteRepaired, repairInput } from './accept-input.ts';
import { clean, inputForTool, resourceKeysOf } from './call-input.ts';
import { formatIssues } from '../tool/format-issues.ts';
import type { PreparedInput } from './call-input.ts';
import { alteredStop, mendedNote } from './active-call.ts';
import type { BudgetShare, ContractShare } from './budget.ts';
import { sharesOf } from './budget.ts';
import {
  contractShares,
  countedByEnd,
  askRules,
  toAsk,
  toMark,
  toMarks,
  toStop,
  askWorkflows,
  workflowDecider,
} from './contract-rules.ts';
import { takeSteps } from '../base/steps.ts';
import type { OwnFileBreach } from '../policy/own-files/judge-own-files.ts';
import { describeOwnFile } from '../policy/own-files/own-file.ts';
import { sandboxMarkOf } from '../tool/sandboxed-tool.ts';
import type { Ask } from '../call/events/confirmation-event.ts';
import { isGuarded } from './judgement.ts';
import { keyedDigestJson } from '../base/canonical.ts';
import type { ClaimHolder } from '../ledger/claims.ts';
import { describeThrown } from '../tool/describe-thrown.ts';
import { awaitOtherProcess } from './runtime-state.ts';
import { finalResult } from './end-turn.ts';
import type { Policy } from '../policy/judge/compile-policy.ts';
import { answerInTime, noAnswer } from './engine.ts';
import type { PreToolUse, ReadDecision, ToolUse } from './call-options.ts';
import { blockFor, readToolDecision } from './call-options.ts';
import { currentSnapshot } from './recorded-input.ts';
import { readCounters, readClaim, findUnsettledEffects } from '../ledger/reads.ts';

/** Fails a call of an unknown tool. */
export const resolveGate: EntryGate = {
  name: 'resolve',
  check({ tool, request, engine }) {
    if (tool !== undefined) return undefined;
    const error = describeUnknownName('tool', request.name, [...engine.tools.keys()]);
    return { type: 'fail', code: 'tool.unknown', error };
  },
};

/** Denies a call of a tool that failed permanently in this turn. */
export const blockedGate: EntryGate = {
  name: 'blocked',
  check({ turn, request }) {
    const failed = turn.blocked?.get(request.name);
    if (failed === undefined) return undefined;
    return {
      type: 'deny',
      reason: 'blocked',
      code: 'call.blocked',
      details: `The tool "${request.name}" failed permanently in this turn (call ${failed}).`,
    };
  },
};

export const deadlineGate: EntryGate = { name: 'deadline', check: turnIsOver };

const itself: DecidedBy = { type: 'gate', name: deadlineGate.name };

/** The stop of a call whose turn has ended. Undefined for an open turn. */
export function turnIsOver({ turn, engine }: Pick<ActiveCall, 'turn' | 'engine'>): Stop | undefined {
  if (turn.ended !== undefined)
    return {
      type: 'deny',
      reason: 'ended',
      code: 'turn.ended',
      by: itself,
      details: turn.ended === 'terminal_result' ? finalResult : 'The turn has ended.',
    };
  const { deadlineAtMs } = turn;
  if (deadlineAtMs === Number.POSITIVE_INFINITY || engine.clock.monotonicMs() < deadlineAtMs)
    return undefined;
  return {
    type: 'deny',
    reason: 'deadline',
    code: 'turn.deadline',
    by: itself,
    details: 'The deadline of the turn has passed.',
  };
}

/** Denies an undo of a call that can no longer be undone. Checked again after an approval. */
export const undoGate: Gate = {
  name: 'undo',
  async check(active) {
    return active.undoes === undefined ? undefined : lookAtUndo(active, active.undoes);
  },
};

async function lookAtUndo(
  { engine, sessionId, facts }: ActiveCall,
  callId: string,
): Promise<Stop | undefined> {
  const stored = await engine.ledger.readCall(sessionId, callId);
  const call = stored && foldStored(stored);
  if (call === undefined) return refuse('conflict', `There is no call ${callId} to undo.`);
  const { force } = readUndoAttrs(facts.attrs);
  const refusal = await whyNotUndo(engine, engine.tools.get(call.toolName), call, force);
  if (refusal === undefined) return undefined;
  return refuse(refusal.code === 'undo.expired' ? 'expired' : 'conflict', refusal.message);
}

const refuse = (reason: 'expired' | 'conflict', details: string): Stop => ({
  type: 'deny',
  reason,
  code: reason === 'expired' ? 'confirmation.expired' : 'call.conflict',
  details,
});

/** A call whose tool is resolved. */
export type ResolvedCall = ActiveCall & { readonly tool: AnyTool };

/** The validated input, or the stop of the call. */
type Validated = ({ readonly type: 'ready' } & ValidInput) | Stop;
type ValidInput = Pick<CheckedCall, 'input' | 'notes'>;

/**
 * Validates the input: as it is, coerced by the listed rules, or repaired. From here on the input is the schema's result,
 * with defaults and transforms.
 */
export async function validate(active: ResolvedCall): Promise<Validated> {
  const { request, tool, engine } = active;
  const { input } = request;
  const tries: RepairTries = { count: 0 };
  if (input.ok) return judge(active, tries, input.arguments, []);
  const mayMend = tool.coerce ?? engine.coerce;
  const mended = mayMend && typeof input.raw === 'string' ? readLenientJson(input.raw, 'json') : undefined;
  return mended?.ok === true && isJsonObject(mended.value)
    ? judge(active, tries, mended.value, [{ path: '$', rule: 'argument_text' }])
    : repair(active, tries, { input: input.raw, issues: [{ path: [], message: input.problem }] });
}

/** Without an argument object there is no exact request. Then only the repaired arguments count. */
const requestedOf = ({ request: { input }, requested }: ActiveCall): RequestedInput => ({
  input: input.ok ? input.arguments : {},
  kept: input.ok ? requested : { kept: {}, hidden: [], repeated: [], digest: '', secrets: requested.secrets },
});

async function judge(
  active: ResolvedCall,
  tries: RepairTries,
  input: JsonObject,
  earlier: readonly InputChange[],
): Promise<Validated> {
  const { engine, tool, sessionId, facts } = active;
  const place = { engine, tool, sessionId, known: facts.hidden };
  const accepted = await acceptInput(place, requestedOf(active), input, true);
  if (earlier.some(({ rule }) => rule === 'repair'))
    noteRepaired(active, tries, accepted.ok ? [] : accepted.issues);
  if (accepted.ok) return toReady(active, accepted.prepared, earlier);
  if (accepted.unfilled === 'altered') return { ...alteredStop, error: alteredArtifact };
  return accepted.unfilled === undefined
    ? repair(active, tries, { input, issues: accepted.issues })
    : refuseInput(active, accepted.issues);
}

const alteredArtifact =
  'The stored content of an artifact that the arguments name was changed after it was stored. The call was not run.';

function toReady(active: ResolvedCall, prepared: PreparedInput, earlier: readonly InputChange[]): Validated {
  if (earlier.length === 0 && prepared.changes.length === 0)
    return { type: 'ready', input: prepared, notes: [] };
  active.secrets.ofInput = prepared.effective.secrets;
  // A path consists of keys, and a key may contain a secret.
  const changes = [...earlier, ...prepared.changes].map(({ path, rule }) => ({
    path: clean(active, path),
    rule,
  }));
  return { type: 'ready', input: { ...prepared, changes }, notes: [mendedNote(changes)] };
}

async function repair(
  active: ResolvedCall,
  tries: RepairTries,
  failed: { readonly input: JsonValue; readonly issues: readonly SchemaIssue[] },
): Promise<Validated> {
  const repaired = await repairInput(active, tries, failed);
  if (repaired === undefined) return refuseInput(active, failed.issues);
  return judge(active, tries, repaired, [{ path: '$', rule: 'repair' }]);
}

const refuseInput = (active: ActiveCall, issues: readonly SchemaIssue[]): Stop => ({
  type: 'deny',
  reason: 'validation',
  code: 'tool.invalid_input',
  details: clean(active, formatIssues(issues)),
});

/**
 * Denies a call that exceeds a budget. It only reads the counters, so that no person is asked about a call that cannot
 * run. The reservation in the commit of the intent enforces the limit.
 */
export const limitsGate: Gate = {
  name: 'limits',
  async check(active) {
    const { tool, policy, turn } = active;
    const cost = tool.costMicros === undefined ? undefined : costOf(active);
    if (cost?.type === 'unknown') return cost.stop;
    const costMicros = cost?.costMicros ?? 0;
    // The policy gate has already checked the limits of contracts.
    const shares = policy === undefined ? [] : contractShares(active, policy);
    const counted = policy === undefined ? [] : countedByEnd(active, policy);
    const found = { costMicros, counted, shares };
    return turn.budgets.length === 0 ? { type: 'found', found } : lookAtBudgets(active, found);
  },
};

type Limits = Pick<Findings, 'costMicros' | 'counted'> & { readonly shares: readonly ContractShare[] };

async function lookAtBudgets({ engine, turn }: CheckedCall, limits: Limits): Promise<Verdict> {
  const shares = sharesOf(turn.budgets, limits.costMicros, true, engine.ledger.now());
  const found = { ...limits, shares: [...shares, ...limits.shares] };
  const counters = await readCounters(
    engine.ledger,
    shares.map(({ counter }) => counter),
  );
  for (const [index, share] of shares.entries()) {
    const { used, reserved } = counters[index] ?? { used: 0, reserved: 0 };
    if (used + reserved + share.amount > share.limit)
      return { type: 'stopped', stop: outOfBudget(share, used + reserved), found };
  }
  return { type: 'found', found };
}

/** The denial of a call that exceeds a budget. */
export function outOfBudget({ scope, label, metric, limit, amount }: BudgetShare, used: number): Stop {
  const unit = metric === 'tool_calls' ? 'tool calls' : 'micro-units of cost';
  const wants = metric === 'tool_calls' ? '' : ` and this call needs ${amount}`;
  return {
    type: 'deny',
    reason: 'budget',
    code: metric === 'tool_calls' ? 'budget.tool_calls_exhausted' : 'budget.cost_exhausted',
    details: `The budget ${label} allows ${limit} ${unit}; ${used} are used or reserved${wants}.`,
    exhausted: { scope, metric, limit, used },
  };
}

/**
 * Denies a call that touches the runtime's own files. No rule and no person can allow it.
 */
export const ownFilesGate: Gate = {
  name: 'own_files',
  async check(active) {
    const { ownFiles } = active.engine;
    // The executor may know fewer files than this runtime, or run the call under the rules of another name.
    if (sandboxMarkOf(active.tool)?.protects(ownFiles.list(), active.tool.name) === true) return undefined;
    const steps = ownFiles.judge()(active.tool, active.judged);
    if (steps === undefined) return undefined;
    return stopFor(active, await takeSteps(steps));
  },
};

const stopFor = (active: ActiveCall, breach: OwnFileBreach | undefined): Stop | undefined =>
  breach === undefined
    ? undefined
    : {
        type: 'deny',
        reason: 'contract',
        code: 'policy.protected',
        details: describe(active, breach),
        by: { type: 'gate', name: 'own_files' },
      };

function describe(active: ActiveCall, breach: OwnFileBreach): string {
  switch (breach.type) {
    case 'too_many_paths':
      return 'The call names more paths than can be checked. Name fewer of them in one call.';
    case 'inside':
    case 'contains': {
      const { type, file } = breach;
      const named = JSON.stringify(clean(active, breach.named.slice(0, 300)));
      const allowed =
        file.access === 'sealed'
          ? 'Calls may neither read nor change it.'
          : 'Calls may read it but not change it.';
      return type === 'inside'
        ? `${named} is protected: it belongs to ${describeOwnFile(file)}. ${allowed}`
        : `The folder ${named} holds ${describeOwnFile(file)}. ${allowed} Name the files or folders you need instead.`;
    }
    default:
      return breach satisfies never;
  }
}

/** The cost of one attempt in micro-units, as the tool states it, or a stop if the tool cannot state it. */
type Cost =
  | { readonly type: 'known'; readonly costMicros: number }
  | { readonly type: 'unknown'; readonly stop: Stop };

function costOf({ tool, input }: Pick<CheckedCall, 'tool' | 'input'>): Cost {
  const { costMicros } = tool;
  if (costMicros === undefined) return free;
  if (typeof costMicros === 'number') return { type: 'known', costMicros };
  let cost: unknown;
  try {
    cost = costMicros(inputForTool(tool.input, input));
  } catch {
    cost = undefined;
  }
  if (typeof cost === 'number' && Number.isSafeInteger(cost) && cost >= 0)
    return { type: 'known', costMicros: cost };
  const stop: Stop = {
    type: 'deny',
    reason: 'budget',
    code: 'budget.cost_exhausted',
    details: 'The cost of the call could not be determined, so it was not run.',
    developer: `costMicros of the tool "${tool.name}" must give a whole number of at least 0, so nothing could be reserved.`,
  };
  return { type: 'unknown', stop };
}

const free: Cost = Object.freeze({ type: 'known', costMicros: 0 });

/** The cost as far as it is known. An attempt without a known cost counts as free. */
export function knownCost(active: Pick<CheckedCall, 'tool' | 'input'>): number {
  const cost = costOf(active);
  return cost.type === 'known' ? cost.costMicros : 0;
}

/** Repeats in a row after which the loop guard denies a call; a higher limit for reads. */
const loopLimit = 3;
const readLoopLimit = 20;

export const duplicateGate: Gate = {
  name: 'duplicate',
  async check(active) {
    const { tool, turn, input } = active;
    const earlier = tool.idempotent
      ? turn.recent.findDuplicate(tool.name, input.effective.digest)
      : undefined;
    return earlier === undefined ? findRepeat(active) : findDuplicate(active, earlier);
  },
};

/** Denies a repeat of a successful call of an idempotent tool if nothing was written since. */
async function findDuplicate(active: CheckedCall, earlier: string): Promise<Verdict> {
  const { engine, sessionId, tool, input } = active;
  const keys = resourceKeysOf(tool, () => inputForTool(tool.input, input));
  if (await wasWrittenSince(engine, sessionId, earlier, keys)) return findRepeat(active);
  return {
    type: 'deny',
    reason: 'duplicate',
    code: 'call.duplicate',
    details: `Call ${earlier} of this turn did the same and succeeded; use its result.`,
  };
}

const findRepeat = async (active: CheckedCall): Promise<Verdict> =>
  findLoop(active) ?? (isGuarded(active.tool) ? findTwin(active) : undefined);

/** Denies a call that a model repeats, alone or in a round of several calls. */
function findLoop({ tool, turn, input, engine, policy }: CheckedCall): Stop | undefined {
  const { digest } = input.effective;
  const repeats = turn.recent.countRepeats(tool.name, digest);
  if (repeats >= limitOf(tool))
    return loop(`The last ${repeats} calls were this one and ended alike; another would too.`);
  const rounds = turn.recent.findRounds(tool.name, digest);
  if (rounds.length === 0) return undefined;
  for (const { toolNames, count } of rounds) {
    // A round that contains a polling read is allowed as often as that read: the highest limit of the round
    // applies.
    const limits = toolNames.map((name) => limitOf(engine.toolFor(name, policy)));
    if (count >= Math.max(...limits))
      return loop(
        `The same ${toolNames.length} calls (${toolNames.join(', ')}) were made ${count} times in a row and ended alike; another round would too.`,
      );
  }
  return undefined;
}

const limitOf = (tool: AnyTool | undefined): number =>
  tool?.loopLimit ?? (tool?.surelyReads === true ? readLoopLimit : loopLimit);

const loop = (details: string): Stop => ({ type: 'deny', reason: 'duplicate', code: 'call.loop', details });

/**
 * Guards against the most common double payment: the model saw no clear end and repeats the call with a new id. A call
 * that may already have taken effect runs again only with an approval.
 */
async function findTwin(active: CheckedCall): Promise<Verdict> {
  const { tool, turn, input, engine, asks, services } = active;
  // Another process may have died with the same call, so each turn first recovers the calls of dead owners.
  if (!turn.swept) {
    await services.sweep(active.sessionId);
    turn.swept = true;
  }
  const { digest } = input.effective;
  const twins = await findUnsettledEffects(
    engine.ledger,
    active.sessionId,
    tool.name,
    digest,
    'before_append',
  );
  if (twins.length === 0) return undefined;
  const description = `Call ${twins.at(-1)} did the same, and it is unknown whether it took effect.`;
  if (tool.rerun === 'deny')
    return { type: 'deny', reason: 'duplicate', code: 'call.twin', details: description };
  const ask: Ask = { by: { type: 'gate', name: 'twin' }, description, code: 'call.twin' };
  return { type: 'found', found: { twins, asks: [...asks, ask] } };
}

/**
 * Two calls with the same key from their tool are one effect. The later call gets the outcome of the earlier
 * one. If the effect of the earlier call is unknown, a person decides.
 */
export const keyGate: Gate = {
  name: 'key',
  async check(active) {
    if (active.tool.idempotencyKey === undefined) return undefined;
    const bound = bindKey(active);
    if (bound.type === 'mistake')
      return {
        type: 'deny',
        reason: 'validation',
        code: 'tool.invalid_input',
        details: 'The tool could not compute an idempotency key, so it was not run.',
        developer: bound.mistake,
      };
    return lookUp({ ...active, ...bound.key }, bound.key.claimKey);
  },
};

type Bound =
  | { readonly type: 'bound'; readonly key: BoundKey & { readonly claimKey: string } }
  | { readonly type: 'mistake'; readonly mistake: string };

/** Asks the tool for its key. */
export function bindKey({ tool, input, sessionId, engine }: CheckedCall): Bound {
  const made = makeKey(tool, inputForTool(tool.input, input));
  if (made.mistake !== undefined) return { type: 'mistake', mistake: made.mistake };
  const { key: toolKey } = made;
  const scope = tool.idempotencyScope === 'ledger' ? ['ledger'] : ['session', sessionId];
  // A key is made from arguments and may contain hidden values, so the ledger stores its digest.
  const digest = keyedDigestJson(engine.seal.digestKey, toolKey);
  return { type: 'bound', key: { toolKey, claimKey: JSON.stringify([...scope, tool.name, digest]) } };
}

async function lookUp(active: CheckedCall, claimKey: string): Promise<Verdict> {
  const holder = await readClaim(active.engine.ledger, claimKey);
  const { toolKey } = active;
  return holder === undefined
    ? { type: 'found', found: { toolKey, claimKey } }
    : meetHolder(active, claimKey, holder);
}

/** The verdict for a call whose key another call holds. Waits for a holder that still runs. */
export async function meetHolder(
  active: CheckedCall,
  claimKey: string,
  holder: ClaimHolder,
): Promise<Verdict> {
  const { engine, services, input, tool, toolKey } = active;
  const stopped = (stop: Stop): Verdict => ({ type: 'stopped', stop, found: { toolKey, claimKey } });
  if (holder.inputDigest !== input.effective.digest)
    return stopped({
      type: 'deny',
      reason: 'conflict',
      code: 'call.conflict',
      details: `Nothing ran: call ${holder.callId} of this tool has the same idempotency key and other arguments. Look at what that call did before you ask for more.`,
    });
  const stored = await engine.ledger.readCall(holder.sessionId, holder.callId);
  const call = stored && foldStored(stored);
  if (stored === undefined || call === undefined) return { type: 'found', found: { toolKey, claimKey } };
  if (call.settled === undefined) {
    const orphan = await services.endOrphan(stored, call, 'of another');
    if (orphan.type !== 'ended') await awaitOtherProcess(active, call, stored, 'of another');
    return lookUp(active, claimKey);
  }
  if (!call.settled.unsettledEffect) return stopped({ type: 'copy', from: holder });
  const supersedes = { sessionId: holder.sessionId, callId: holder.callId };
  const found = { toolKey, claimKey, supersedes };
  const isResolved = call.resolution !== undefined && call.resolution.resolution !== 'succeeded';
  if (isResolved || active.twins.includes(holder.callId) || tool.rerun === 'allow')
    return { type: 'found', found };
  const description = `Call ${holder.callId} has the same idempotency key, and it is unknown whether it took effect.`;
  const twins = [...active.twins, holder.callId];
  if (tool.rerun === 'deny')
    return {
      type: 'stopped',
      stop: { type: 'deny', reason: 'duplicate', code: 'call.twin', details: description },
      found: { ...found, twins },
    };
  const ask: Ask = { by: { type: 'gate', name: 'twin' }, description, code: 'call.twin' };
  return { type: 'found', found: { ...found, twins, asks: [...active.asks, ask] } };
}

type MadeKey = { readonly key: string; readonly mistake?: undefined } | { readonly mistake: string };

function makeKey(tool: AnyTool, executedInput: unknown): MadeKey {
  try {
    const key: unknown = tool.idempotencyKey?.(executedInput);
    if (typeof key === 'string' && key !== '') return { key };
    return { mistake: `idempotencyKey of the tool "${tool.name}" must give a non-empty text.` };
  } catch (error) {
    return { mistake: `idempotencyKey of the tool "${tool.name}" threw: ${describeThrown(error)}` };
  }
}

/**
 * Asks every hook, every rule and every workflow: block beats ask beats allow, in any order. If a hook and a
 * rule both block, the hook is named.
 */
export const policyGate: Gate = {
  name: 'policy',
  async check(active) {
    const { policy } = active;
    const hooked = active.engine.hooks.length === 0 ? undefined : await askHooks(active);
    if (policy === undefined) return hooked;
    // Rules are asked even if a hook has blocked the call: their answers go on record.
    const ruled = await askContracts({ ...active, ...hooked?.found }, policy);
    return hooked?.type === 'stopped' ? { ...hooked, found: { ...hooked.found, ...ruled.found } } : ruled;
  },
};

const late = Symbol('late');

type Asked = Extract<Verdict, { type: 'found' | 'stopped' }>;

const toVerdict = (stop: Stop | undefined, found: GateFindings): Asked =>
  stop === undefined ? { type: 'found', found } : { type: 'stopped', stop, found };

async function askContracts(active: CheckedCall, policy: Policy): Promise<Asked> {
  const ruling = await answerInTime(active.engine, askRules(active, policy), late);
  if (ruling === late) return toVerdict(silentRule, { ruled: true });
  const asking = ruling.fired.filter(({ action }) => action === 'ask');
  const found = {
    ruled: true,
    rules: toMarks(active, ruling),
    asks: [...active.asks, ...asking.map((fired) => toAsk(active, policy, fired))],
  };
  const { decidedBy } = ruling;
  const stop = ruling.decision === 'block' && decidedBy !== undefined ? toStop(active, decidedBy) : undefined;
  return policy.workflows.length === 0
    ? toVerdict(stop, found)
    : askAllWorkflows(active, policy, stop, found);
}

/** The stop if a rule written as a function did not answer. Rules of documents answer at once. */
const silentRule: Stop = {
  type: 'deny',
  reason: 'contract',
  code: 'policy.contract',
  details: 'A rule gave no answer, so the call was not allowed.',
  developer: `A rule written as a function ${noAnswer}.`,
};

async function askAllWorkflows(
  active: CheckedCall,
  policy: Policy,
  ruled: Stop | undefined,
  found: Pick<Findings, 'rules' | 'asks' | 'ruled'>,
): Promise<Asked> {
  const workflowSteps = await askWorkflows(active, policy.workflows);
  const rules = [...found.rules];
  const asks = [...found.asks];
  let stop = ruled;
  for (const step of workflowSteps) {
    const { decision, message = '', stageId } = step.ruling;
    if (decision === 'allow') continue;
    const by = workflowDecider(step);
    const description = clean(active, message);
    rules.push(
      toMark(active, {
        ruleId: by.name,
        ruleType: 'workflow',
        action: decision,
        message,
        tags: [],
        metadata: undefined,
        policyError: false,
        observed: false,
      }),
    );
    if (decision === 'block')
      stop ??= { type: 'deny', reason: 'contract', code: 'policy.contract', details: description, by };
    else if (stageId !== undefined)
      asks.push({
        by,
        description,
        stage: { workflow: step.workflow.name, stageId },
        ...approvalOf(step, stageId),
      });
  }
  return toVerdict(stop, { ruled: found.ruled, rules, asks, workflowSteps });
}

function approvalOf({ workflow }: WorkflowStep, stageId: string): Pick<Ask, 'approval'> {
  const approval = workflow.stages.find(({ id }) => id === stageId)?.approval;
  return approval === undefined ? {} : { approval };
}

async function askHooks(active: CheckedCall): Promise<Asked> {
  const use = toToolUse(active);
  const asks = [...active.asks];
  let block: Stop | undefined;
  for (const [index, hook] of active.engine.hooks.entries()) {
    const by: DecidedBy = { type: 'hook', name: hook.name || `onPreToolUse[${index}]` };
    const decision = await callHook(active, hook, use, by.name);
    switch (decision.type) {
      case 'allow':
        break;
      case 'block':
        block ??= {
          type: 'deny',
          reason: 'pre_hook',
          code: 'policy.hook',
          details: clean(active, decision.reason),
          ...(decision.mistake !== undefined && { developer: decision.mistake }),
          by,
        };
        break;
      case 'requires_confirmation':
        asks.push({
          by,
          description: clean(active, decision.description),
          ...(decision.timeoutMs !== undefined && { timeoutSeconds: decision.timeoutMs / 1_000 }),
        });
        break;
      default:
        decision satisfies never;
    }
  }
  return toVerdict(block, { asks });
}

async function callHook(
  { engine }: CheckedCall,
  hook: PreToolUse,
  use: ToolUse,
  name: string,
): Promise<ReadDecision> {
  try {
    const answer = await answerInTime(engine, hook(use), late);
    return answer === late ? blockFor(`${name} ${noAnswer}.`) : readToolDecision(answer, name);
  } catch (error) {
    return blockFor(`${name} threw: ${describeThrown(error)}`);
  }
}

function toToolUse(active: CheckedCall): ToolUse {
  const { turn, request, tool, facts, judged } = active;
  return Object.freeze({
    sessionId: turn.sessionId,
    turnId: turn.turnId,
    callId: request.id,
    toolName: tool.name,
    mode: tool.mode,
    modeOrigin: tool.modeOrigin,
    risk: tool.risk,
    arguments: freezeJson(judged),
    snapshot: currentSnapshot(active)?.snapshot,
    principal: facts.principal,
    attrs: facts.attrs,
  });
}
