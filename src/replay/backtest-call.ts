/** A call of a session under other rules: the facts so far and their consequences. */
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

/** An approval that was not used in time still counts as a decision. */
export const isUnanswered = (
  { confirmationId }: ConfirmationExpired,
  { held, answered }: BacktestCall,
): boolean => !answered && held?.confirmationId === confirmationId;

/** Would these rules let the tool run? A confirmation that expired then counts as expired now. */
export function wouldRun({ after, unanswered, fired }: BacktestCall): boolean {
  if (after !== 'ask') return after === 'allow';
  const asking = fired.filter(({ action, observed }) => action === 'ask' && !observed);
  return !unanswered || asking.every(({ timeoutEffect }) => timeoutEffect === 'allow');
}

/** Edited arguments are used unchanged or not at all. */
export async function refuseEdited(tool: AnyTool, edited: JsonObject): Promise<string | undefined> {
  const reading = await readArguments(tool, edited);
  if (!reading.ok) return reading.refusal;
  return reading.input === edited ? undefined : 'The edited arguments do not match the schema unchanged.';
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

/** Did rules alone stop the call: by a block, or by a confirmation that was denied or expired? */
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
