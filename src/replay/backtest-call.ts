/** A call of a session that is tried against other rules: what is known of it so far, and what follows from that. */
import type { JsonObject } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import type {
  ConfirmationExpired,
  ToolHeld,
  ToolPreviewed,
  ToolRequested,
  ToolResponded,
} from '../call/event.ts';
import type { PolicyCall } from '../policy/language/policy-call.ts';
import type { FiredRule } from '../policy/language/ruling.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { CallWord } from './backtest-report.ts';
import { readArguments } from './read-arguments.ts';
import type { WorkflowRulings } from './session-workflows.ts';

export type BacktestCall = {
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
  /** What the tool showed, and of which input. */
  preview: Pick<ToolPreviewed, 'snapshot' | 'inputDigest'> | undefined;
  /** What rules see of it: nothing where it was made for another input. */
  snapshot: JsonObject | undefined;
  /** A person gave other arguments, and nothing was decided about them yet. */
  edited: boolean;
  /** Somebody answered the question it was last held with. */
  answered: boolean;
  /** Nobody answered a question about it in time. */
  unanswered: boolean;
  counted: boolean;
};

export const requestedObject = ({ requestedInput }: ToolRequested): JsonObject | undefined =>
  isJsonObject(requestedInput) ? requestedInput : undefined;

export function notePreview(
  call: BacktestCall,
  { ready, snapshot, inputDigest, hidden }: ToolPreviewed,
): void {
  if (!ready) return;
  call.preview = { snapshot, inputDigest };
  if (hidden.length > 0) call.byKeptForm = true;
}

/** An approval that was not used in time was an answer all the same. */
export const isUnanswered = (
  { confirmationId }: ConfirmationExpired,
  { held, answered }: BacktestCall,
): boolean => !answered && held?.confirmationId === confirmationId;

/** Whether these rules would let the body start. Where nobody answered, nobody would. */
export function wouldRun({ after, unanswered, fired }: BacktestCall): boolean {
  if (after !== 'ask') return after === 'allow';
  const asking = fired.filter(({ action, observed }) => action === 'ask' && !observed);
  return !unanswered || asking.every(({ timeoutEffect }) => timeoutEffect === 'allow');
}

/** What was edited is taken as it is, or not at all. */
export async function refuseEdited(tool: AnyTool, edited: JsonObject): Promise<string | undefined> {
  const reading = await readArguments(tool, edited);
  if (!reading.ok) return reading.refusal;
  return reading.input === edited ? undefined : 'The edited arguments do not fit the schema as they are.';
}

export const toBacktestPolicyCall = (
  { requested, tool, snapshot }: BacktestCall,
  input: JsonObject,
): PolicyCall => ({
  toolName: requested.toolName,
  input,
  principal: requested.principal,
  metadata: requested.attrs,
  snapshot,
  resources: tool?.resources,
});

export const toWorkflowCall = (
  { requested }: BacktestCall,
  input: JsonObject,
): { toolName: string; input: JsonObject; at: number } => ({
  toolName: requested.toolName,
  input,
  at: requested.at,
});

/**
 * Whether it was rules, and nothing else, that kept a call from running: by a no, or by asking somebody who said
 * it or said nothing.
 */
export function wasStoppedByRules(
  { held, after, unanswered }: BacktestCall,
  { outcome }: ToolResponded,
): boolean {
  if (outcome.type !== 'ToolDenied') return false;
  if (outcome.reason === 'contract' || outcome.reason === 'validation') return true;
  const wasPeople =
    outcome.reason === 'write_denied' ? after === 'allow' : outcome.reason === 'expired' && unanswered;
  return wasPeople && held !== undefined && held.asks.every(({ by }) => by.type === 'rule');
}
