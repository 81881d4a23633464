/**
 * The stages of a call, each an immutable value. A stage has everything of the one before it and adds new
 * facts:
 *
 *   AcceptedCall → ReadyCall (tool and input) → JudgedCall (findings of the gates) → StartedCall (body may run)
 *
 * A function takes the earliest stage that has what it reads. `EndedCall` and `AskedCall` are what the end of
 * a call and a hold need: a call can get there from several stages.
 */
import type { JsonObject } from '../../base/json.ts';
import type { Ask, GatePassage, ReservedShare, RuleMark } from '../../call/event.ts';
import type { Claim } from '../../ledger/claims.ts';
import type { Policy } from '../../policy/judge/compile-policy.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import type { Share } from '../host/budget.ts';
import { noShares } from '../host/budget.ts';
import { judgedInput } from '../input/judged-input.ts';
import type { PreparedInput } from '../input/prepared-input.ts';
import type { AcceptedCall } from './accepted-call.ts';
import type { GrantInUse } from './grant-in-use.ts';
import type { PendingReply } from './call-reply.ts';
import type { WorkflowStep } from './workflow-step.ts';

/** A call whose tool is known and whose input the schema has accepted. */
export type ReadyCall = AcceptedCall & {
  readonly tool: AnyTool;
  readonly input: PreparedInput;
  /** The input as hooks, rules and grants see it. */
  readonly judged: JsonObject;
  /** Notes for the model, in addition to the content of the outcome. */
  readonly notes: readonly string[];
};

/** The key that the tool made from the arguments. */
export type BoundKey = {
  readonly toolKey: string | undefined;
  /** The name of its claim in the ledger. */
  readonly claimKey: string | undefined;
};

/** The findings of the gates. Each gate returns its part. */
export type Findings = BoundKey & {
  /** Why a person must decide. */
  readonly asks: readonly Ask[];
  /** Rulings about the call. */
  readonly rules: readonly RuleMark[];
  /** Have the rules judged the call? */
  readonly ruled: boolean;
  readonly workflowSteps: readonly WorkflowStep[];
  /** Earlier identical calls whose effect is unknown. */
  readonly twins: readonly string[];
  /** The one of them whose claim on the key passes to this call. */
  readonly supersedes: Claim['supersedes'] | undefined;
  /** The cost of one attempt. */
  readonly costMicros: number;
  /** The shares that the intent reserves. */
  readonly shares: readonly Share[];
  /** The counts that the end of the call adds. */
  readonly counted: readonly ReservedShare[];
  /** The grant that replaces an approval. */
  readonly grant: GrantInUse | undefined;
};

/** How far a call came through the gates. */
export type Passage = {
  /** The gates that had to wait, and for how long. */
  readonly passages: readonly GatePassage[];
  readonly lastGate: string;
};

/** A call that has passed the gates. */
export type JudgedCall = ReadyCall & Findings & Passage;

/** A call whose body may run: a read, or a call whose intent is stored. */
export type StartedCall = ReadyCall &
  BoundKey & {
    /** The resources that the call touches. Undefined means any. */
    readonly resourceKeys?: readonly string[] | undefined;
  };

/** What the end of a call reads. A call can end in every stage. */
export type EndedCall = AcceptedCall & {
  readonly input?: PreparedInput | undefined;
  readonly notes?: readonly string[];
  readonly ruled?: boolean;
  readonly claimKey?: string | undefined;
  readonly resourceKeys?: readonly string[] | undefined;
};

/** A call that a gate has stopped, with the findings so far. */
export type StoppedCall = EndedCall & Partial<Findings> & Passage;

/** A call with a question to a person. */
export type AskedCall = EndedCall &
  Pick<Findings, 'toolKey' | 'claimKey' | 'twins' | 'supersedes' | 'ruled'> & {
    readonly notes: readonly string[];
  };

/** A question that this process itself holds. */
export type HeldHere = PendingReply & { readonly asked: AskedCall };

/** A state that the gates had read has changed, so they must run again. */
export type Moved = { readonly type: 'moved' };
export const moved: Moved = Object.freeze({ type: 'moved' });

const none: readonly never[] = Object.freeze([]);

export const nothingFound: Findings = Object.freeze({
  asks: none,
  rules: none,
  ruled: false,
  workflowSteps: none,
  toolKey: undefined,
  claimKey: undefined,
  twins: none,
  supersedes: undefined,
  costMicros: 0,
  shares: noShares,
  counted: noShares,
  grant: undefined,
});

/** Adds the input of the call. From now on its secrets are hidden wherever they are echoed. */
export function withInput<Stage extends AcceptedCall>(
  live: Stage,
  tool: AnyTool,
  input: PreparedInput,
  notes: readonly string[],
): Stage & ReadyCall {
  live.secrets.ofInput = input.effective.secrets;
  return { ...live, tool, input, judged: judgedInput(input), notes };
}

/**
 * The call at its first gate, as a new object. Written out for speed: merging two objects into a third costs
 * twice the memory.
 */
export const toJudged = (
  live: AcceptedCall,
  tool: AnyTool,
  input: PreparedInput,
  judged: JsonObject,
  notes: readonly string[],
  known: Findings,
  passages: Passage['passages'],
): JudgedCall => ({
  services: live.services,
  engine: live.engine,
  turn: live.turn,
  sessionId: live.sessionId,
  callId: live.callId,
  request: live.request,
  requested: live.requested,
  facts: live.facts,
  options: live.options,
  manner: live.manner,
  tool,
  policy: live.policy,
  journal: live.journal,
  signals: live.signals,
  secrets: live.secrets,
  preview: live.preview,
  input,
  judged,
  notes,
  asks: known.asks,
  rules: known.rules,
  ruled: known.ruled,
  workflowSteps: known.workflowSteps,
  toolKey: known.toolKey,
  claimKey: known.claimKey,
  twins: known.twins,
  supersedes: known.supersedes,
  costMicros: known.costMicros,
  shares: known.shares,
  counted: known.counted,
  grant: known.grant,
  passages,
  lastGate: 'validate',
});

/** The call as it was before its gates. */
export const asAccepted = (live: AcceptedCall): AcceptedCall => ({
  services: live.services,
  engine: live.engine,
  turn: live.turn,
  sessionId: live.sessionId,
  callId: live.callId,
  request: live.request,
  requested: live.requested,
  facts: live.facts,
  options: live.options,
  manner: live.manner,
  tool: live.tool,
  policy: live.policy,
  journal: live.journal,
  signals: live.signals,
  secrets: live.secrets,
  preview: live.preview,
});

/** Is the input of the call known? */
export const isReady = (live: AcceptedCall): live is ReadyCall => 'judged' in live;

/** The call under other rules. */
export const underPolicy = <Stage extends AcceptedCall>(live: Stage, policy: Policy | undefined): Stage => ({
  ...live,
  policy,
});

/** Notes for the model, as a field of an outcome. */
export const modelNote = (notes: readonly string[] = none): { readonly modelNote?: string } =>
  notes.length === 0 ? {} : { modelNote: notes.join(' ') };
