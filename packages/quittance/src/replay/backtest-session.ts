/**
 * Backtests one session. It reads the entries in their order and follows limits and workflows as if these rules had
 * been in force.
 *
 * 1. Nothing runs: no tool, no hook, no `exec` gate. The output of a tool is the one in the ledger.
 * 2. A blocked call does not run: it uses no limit and moves no workflow.
 * 3. A confirmation counts as approved, unless a person denied it then or it expired. After an expiry the call runs
 *    only if every rule that asks allows it on expiry.
 * 4. Edited arguments are judged exactly as the person wrote them.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type {
  ConfirmationDecision,
  RuleMark,
  ToolDecided,
  ToolRequested,
  ToolResponded,
  ConfirmationExpired,
  ToolHeld,
  ToolPreviewed,
} from '../call/event.ts';
import { isKnownEvent } from '../ledger/formats/v1/event-table.ts';
import type { ReadEntry } from '../ledger/formats/v1/read-entry.ts';
import type { ReadEvent } from '../ledger/unknown-event.ts';
import type { Policy, SessionCounters } from '../policy/judge/compile-policy.ts';
import type { FiredRule, Ruling } from '../policy/language/ruling.ts';
import { combineRulings } from '../policy/language/ruling.ts';
import type { WorkflowHost } from '../policy/workflow/first-shut-gate.ts';
import { namesArtifact } from '../runtime/accept-input.ts';
import { gateNames } from '../runtime/gates.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { CallVerdict, CallWord, NotJudged } from './backtest-report.ts';
import { backtestEnd } from './backtest-end.ts';
import { readArguments } from './read-arguments.ts';
import { SessionWorkflows } from './session-workflows.ts';
import { isJsonObject } from '../base/json.ts';
import type { PolicyCall } from '../policy/language/policy-call.ts';
import type { WorkflowRulings } from './session-workflows.ts';
import { countedEnd } from '../call/decide.ts';

type SessionTrial = {
  readonly policy: Policy;
  readonly workflowHost: WorkflowHost;
  readonly tools: ReadonlyMap<string, AnyTool>;
  readonly readArtifact: (sessionId: string, artifactId: string) => Promise<JsonValue | undefined>;
  readonly tell: (verdict: CallVerdict) => void;
  readonly skip: (call: Pick<CallVerdict, 'toolName' | 'at'>, why: NotJudged) => void;
};

const beforeRules: ReadonlySet<string> = new Set(gateNames.slice(0, gateNames.indexOf('policy')));

export class SessionBacktest {
  readonly #trial: SessionTrial;
  readonly #workflows: SessionWorkflows | undefined;
  readonly #open = new Map<string, BacktestCall>();
  readonly #counts = new SessionCounts();

  constructor(trial: SessionTrial) {
    this.#trial = trial;
    const { workflows } = trial.policy;
    this.#workflows =
      workflows.length === 0 ? undefined : new SessionWorkflows(workflows, withoutExec(trial.workflowHost));
  }

  async take({ events, erased }: Pick<ReadEntry, 'events' | 'erased'>): Promise<void> {
    for (const event of events) await this.#hear(event, erased);
  }

  /** Reports calls without an outcome as far as they got. */
  finish(): void {
    for (const call of this.#open.values()) this.#close(call, undefined, undefined);
    this.#open.clear();
  }

  async #hear(event: ReadEvent, erased: boolean): Promise<void> {
    // This version cannot judge an event type of a newer version.
    if (!isKnownEvent(event)) return;
    if (event.type === 'tool.requested') return this.#begin(event, erased);
    if (event.type === 'workflow.updated') return this.#workflows?.follow(event);
    const call = 'callId' in event ? this.#open.get(event.callId) : undefined;
    if (call === undefined) return;
    if (event.type === 'tool.decided') await this.#decide(call, event);
    else if (event.type === 'tool.held') [call.held, call.answered] = [event, false];
    else if (event.type === 'tool.previewed') notePreview(call, event);
    else if (event.type === 'confirmation.decided') this.#answer(call, event.decision);
    else if (event.type === 'confirmation.voted') call.edited ||= event.decision === 'edit';
    else if (event.type === 'confirmation.expired') call.unanswered ||= isUnanswered(event, call);
    else if (event.type === 'tool.started') this.#count(call, wouldRun(call));
    else if (event.type === 'tool.responded' && event.final) await this.#settle(call, event, erased);
  }

  #answer(call: BacktestCall, decision: ConfirmationDecision): void {
    call.answered = true;
    call.edited ||= decision === 'edit';
    if ((decision === 'approve' || decision === 'edit') && call.workflows !== undefined)
      this.#workflows?.approve(call.workflows);
  }

  #begin(requested: ToolRequested, erased: boolean): void {
    const { requestedInput, hidden } = requested;
    this.#open.set(requested.callId, {
      requested,
      erased,
      tool: this.#trial.tools.get(requested.toolName),
      input: requestedObject(requested),
      byKeptForm: hidden.length > 0 || namesArtifact(requestedInput),
      before: undefined,
      after: undefined,
      fired: [],
      refusal: undefined,
      workflows: undefined,
      held: undefined,
      preview: undefined,
      snapshot: undefined,
      edited: false,
      answered: false,
      unanswered: false,
      counted: false,
    });
  }

  async #decide(call: BacktestCall, event: ToolDecided): Promise<void> {
    if (call.erased) return;
    const isRefused = event.decision === 'deny' && stoppedBy(event, 'validate');
    const { tool, requested } = call;
    if (tool !== undefined && call.before === undefined && (isRefused || reachedRules(event))) {
      const reading = await readArguments(tool, requested.requestedInput);
      if (!reading.ok) {
        call.before = isRefused ? 'refused' : wordOf(event.rules);
        call.after = 'refused';
        call.refusal = reading.refusal;
        return;
      }
      call.input = reading.input;
    } else if (!reachedRules(event) || call.after === 'refused') return;
    else if (call.edited) {
      call.edited = false;
      call.input = event.effectiveInput ?? requestedObject(requested);
      const refusal = tool && call.input && (await refuseEdited(tool, call.input));
      if (refusal !== undefined) {
        call.before = stronger(call.before, wordOf(event.rules));
        [call.after, call.refusal] = ['refused', refusal];
        return;
      }
    } else if (tool === undefined) call.input = event.effectiveInput ?? call.input;
    // A preview of other arguments says nothing about these.
    call.snapshot = call.preview?.inputDigest === event.inputDigest ? call.preview?.snapshot : undefined;
    call.before = isRefused ? 'refused' : stronger(call.before, wordOf(event.rules));
    const { input } = call;
    if (input === undefined) return;
    await this.#judge(call, event, input, isRefused);
  }

  async #judge(
    call: BacktestCall,
    event: ToolDecided,
    input: JsonObject,
    wasRefused: boolean,
  ): Promise<void> {
    const { policy } = this.#trial;
    const asked = await policy.judgeCall(toBacktestPolicyCall(call, input), this.#counts.counters);
    const workflows = await this.#workflows?.ask(toWorkflowCall(call, input), event.decision !== 'ask');
    let ruling = merge(asked, workflows?.fired ?? []);
    // Under the same rules, the recorded decision includes the effect of the redacted arguments.
    if (call.byKeptForm && event.policyVersion === policy.version && !wasRefused)
      ruling = withMarks(ruling, event.rules);
    call.after = stronger(call.after, ruling.decision);
    call.fired = [
      ...call.fired.filter(({ ruleId }) => !hasRule(ruling, ruleId)),
      ...ruling.fired,
      ...ruling.observed,
    ];
    if (workflows === undefined) return;
    call.workflows = workflows;
    const goesOn = event.decision === 'allow' || wasRefused || event.decidedBy?.type === 'rule';
    if (event.decision !== 'ask') this.#workflows?.move(workflows, goesOn && ruling.decision !== 'block');
  }

  async #settle(call: BacktestCall, event: ToolResponded, erased: boolean): Promise<void> {
    this.#open.delete(call.requested.callId);
    const runs = wouldRun(call);
    this.#count(call, runs && (event.attempt > 0 || wasStoppedByRules(call, event)));
    // The end of a tool that never ran is unknown, so nothing is counted.
    if (runs && event.attempt > 0) this.#counts.ended(event);
    if (event.attempt === 0 || erased || !runs || call.input === undefined)
      return this.#close(call, undefined, event);
    if (call.workflows !== undefined)
      await this.#workflows?.record(call.workflows, toWorkflowCall(call, call.input), event);
    const end = await backtestEnd(
      this.#trial,
      toBacktestPolicyCall(call, call.input),
      call.requested.sessionId,
      event,
    );
    return this.#close(call, end, event);
  }

  #close(
    call: BacktestCall,
    end: Awaited<ReturnType<typeof backtestEnd>> | undefined,
    event: ToolResponded | undefined,
  ): void {
    const { requested, before, after, fired, refusal, byKeptForm } = call;
    const { sessionId, callId, toolName, at, requestedInput } = requested;
    if (before === undefined || after === undefined) {
      this.#trial.skip({ toolName, at }, call.erased ? 'erased' : 'never_reached_rules');
      return;
    }
    this.#trial.tell({
      sessionId,
      callId,
      toolName,
      at,
      input: call.input ?? requestedInput,
      before: { call: before, output: event === undefined || event.attempt === 0 ? undefined : end?.before },
      after: { call: after, output: end?.after },
      fired: { call: fired, output: end?.fired ?? [] },
      refusal: refusal ?? end?.refusal,
      byKeptForm: byKeptForm || end?.byKeptForm === true,
      unanswered: call.unanswered,
    });
  }

  /** Counts a call once when it reaches the rules, and again if the tool would start. */
  #count(call: BacktestCall, runs: boolean): void {
    if (call.counted || call.after === undefined || call.after === 'refused') return;
    call.counted = true;
    this.#counts.reached();
    if (runs) this.#counts.started(call.requested.toolName);
  }
}

/** Nothing runs here: a gate that needs a command stays closed. */
const withoutExec = ({ evidence, workingDirectory }: WorkflowHost): WorkflowHost => ({
  evidence,
  ...(workingDirectory !== undefined && { workingDirectory }),
});

const stoppedBy = ({ decidedBy }: ToolDecided, gate: string): boolean =>
  decidedBy?.type === 'gate' && decidedBy.name === gate;

const reachedRules = (event: ToolDecided): boolean =>
  event.decision !== 'deny' || event.decidedBy?.type !== 'gate' || !beforeRules.has(event.decidedBy.name);

const strength: { readonly [Word in CallWord]: number } = { allow: 0, ask: 1, block: 2, refused: 3 };

const stronger = (one: CallWord | undefined, other: CallWord): CallWord =>
  one !== undefined && strength[one] > strength[other] ? one : other;

/** The decision of the rules at the time. Rules that only observe do not count. */
function wordOf(marks: readonly RuleMark[]): CallWord {
  const says = (action: RuleMark['action']): boolean =>
    marks.some((mark) => mark.action === action && mark.observed !== true);
  return says('block') ? 'block' : says('ask') ? 'ask' : 'allow';
}

const merge = (asked: Ruling, workflows: readonly FiredRule[]): Ruling =>
  workflows.length === 0
    ? asked
    : combineRulings([...asked.fired, ...workflows], asked.observed, asked.policyVersion);

const hasRule = ({ fired, observed }: Ruling, id: string): boolean =>
  [...fired, ...observed].some(({ ruleId }) => ruleId === id);

function withMarks(ruling: Ruling, marks: readonly RuleMark[]): Ruling {
  const added = marks.filter(({ ruleId }) => !hasRule(ruling, ruleId)).map(toFired);
  return combineRulings(
    [...ruling.fired, ...added.filter(({ observed }) => !observed)],
    [...ruling.observed, ...added.filter(({ observed }) => observed)],
    ruling.policyVersion,
  );
}

const toFired = ({
  ruleId,
  action,
  message,
  tags,
  metadata,
  observed,
  policyError,
}: RuleMark): FiredRule => ({
  ruleId,
  ruleType: 'pre',
  action,
  message,
  tags: tags ?? [],
  metadata,
  policyError: policyError === true,
  observed: observed === true,
});

/** A call of a session under other rules: the facts so far and their consequences. */

type BacktestCall = {
  readonly requested: ToolRequested;
  readonly erased: boolean;
  tool: AnyTool | undefined;
  input: JsonObject | undefined;
  byKeptForm: boolean;
  before: CallWord | undefined;
  after: CallWord | undefined;
  fired: readonly FiredRule[];
  refusal: string | undefined;
  workflows: WorkflowRulings | undefined;
  held: ToolHeld | undefined;
  /** The tool's preview and the input it was made for. */
  preview: Pick<ToolPreviewed, 'snapshot' | 'inputDigest'> | undefined;
  /** The preview that rules see; undefined if it was made for another input. */
  snapshot: JsonObject | undefined;
  /** A person edited the arguments, and there is no decision about them yet. */
  edited: boolean;
  /** A person decided its latest confirmation. */
  answered: boolean;
  /** A confirmation of the call expired without a decision. */
  unanswered: boolean;
  counted: boolean;
};

const requestedObject = ({ requestedInput }: ToolRequested): JsonObject | undefined =>
  isJsonObject(requestedInput) ? requestedInput : undefined;

function notePreview(call: BacktestCall, { ready, snapshot, inputDigest, hidden }: ToolPreviewed): void {
  if (!ready) return;
  call.preview = { snapshot, inputDigest };
  if (hidden.length > 0) call.byKeptForm = true;
}

/** An approval that was not used in time still counts as a decision. */
const isUnanswered = ({ confirmationId }: ConfirmationExpired, { held, answered }: BacktestCall): boolean =>
  !answered && held?.confirmationId === confirmationId;

/** Would these rules let the tool run? A confirmation that expired then counts as expired now. */
function wouldRun({ after, unanswered, fired }: BacktestCall): boolean {
  if (after !== 'ask') return after === 'allow';
  const asking = fired.filter(({ action, observed }) => action === 'ask' && !observed);
  return !unanswered || asking.every(({ timeoutEffect }) => timeoutEffect === 'allow');
}

/** Edited arguments are used unchanged or not at all. */
async function refuseEdited(tool: AnyTool, edited: JsonObject): Promise<string | undefined> {
  const reading = await readArguments(tool, edited);
  if (!reading.ok) return reading.refusal;
  return reading.input === edited ? undefined : 'The edited arguments do not match the schema unchanged.';
}

const toBacktestPolicyCall = (
  { requested, tool, snapshot }: BacktestCall,
  input: JsonObject,
): PolicyCall => ({
  toolName: requested.toolName,
  input,
  principal: requested.principal,
  metadata: requested.attrs,
  snapshot,
  resources: tool?.resources,
  mode: requested.mode,
  risk: requested.risk,
});

const toWorkflowCall = (
  { requested }: BacktestCall,
  input: JsonObject,
): { toolName: string; input: JsonObject; at: number } => ({
  toolName: requested.toolName,
  input,
  at: requested.at,
});

/** Did rules alone stop the call: by a block, or by a confirmation that was denied or expired? */
function wasStoppedByRules({ held, after, unanswered }: BacktestCall, { outcome }: ToolResponded): boolean {
  if (outcome.type !== 'ToolDenied') return false;
  if (outcome.reason === 'contract' || outcome.reason === 'validation') return true;
  const wasPeople =
    outcome.reason === 'write_denied' ? after === 'allow' : outcome.reason === 'expired' && unanswered;
  return wasPeople && held !== undefined && held.asks.every(({ by }) => by.type === 'rule');
}

/** The counters of a session under other rules. */

class SessionCounts {
  readonly #calls = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  readonly #inARow = new Map<string, number>();
  #toolCalls = 0;
  #attempts = 0;
  #allFailures = 0;
  #allInARow = 0;

  get counters(): SessionCounters {
    return {
      toolCalls: this.#toolCalls,
      attempts: this.#attempts,
      callsOf: (toolName) => this.#calls.get(toolName) ?? 0,
      failures: this.#allFailures,
      consecutiveFailures: this.#allInARow,
      failuresOf: (toolName) => this.#failures.get(toolName) ?? 0,
      consecutiveFailuresOf: (toolName) => this.#inARow.get(toolName) ?? 0,
    };
  }

  /** A call reached the rules. */
  reached(): void {
    this.#attempts++;
  }

  /** The tool of a call started. */
  started(toolName: string): void {
    this.#toolCalls++;
    add(this.#calls, toolName);
  }

  /** A tool ended, as recorded. */
  ended({ outcome, toolSuccess }: Pick<ToolResponded, 'outcome' | 'toolSuccess'>): void {
    const { toolName } = outcome;
    const end = countedEnd(outcome, toolSuccess);
    if (end === 'succeeded') {
      this.#allInARow = 0;
      this.#inARow.delete(toolName);
    } else if (end === 'failed') {
      this.#allFailures++;
      this.#allInARow++;
      add(this.#failures, toolName);
      add(this.#inARow, toolName);
    }
  }
}

const add = (counts: Map<string, number>, name: string): void => {
  counts.set(name, (counts.get(name) ?? 0) + 1);
};
