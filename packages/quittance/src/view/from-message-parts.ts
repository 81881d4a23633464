/**
 * Reads calls from AI SDK messages (`tool-*` and `dynamic-tool` parts, versions 6 and 7). Messages know less than
 * events: no attempts, no log, no preview, and only the mode implied by the name.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject, toJson } from '../base/json.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { classifyTool } from '../tool/mode.ts';
import { isOutcomeShaped } from './read-call-event.ts';
import type { DisplayStatus, ShownConfirmation, ToolCallView } from './tool-call-view.ts';
import { toolCallKey } from './tool-call-view.ts';
import type { ToolCalls } from './tool-calls.ts';
import { statusOfOutcome } from './view-tool-call.ts';

/**
 * Returns the calls in the parts of one or more messages, in order: `messages.flatMap((message) => message.parts)`.
 * Skips parts that are not tool calls. If one of our adapters ran the tool, the output holds the outcome, which is
 * shown.
 */
export function fromMessageParts(parts: Iterable<unknown>): ToolCalls {
  const calls = new Map<string, ToolCallView>();
  for (const part of parts) {
    if (!isJsonObject(part)) continue;
    const call = viewPart(part, calls);
    if (call !== undefined) calls.set(call.key, call);
  }
  return calls;
}

function viewPart(part: JsonObject, calls: ToolCalls): ToolCallView | undefined {
  const toolName = toolNameOf(part);
  const id = text(part, 'toolCallId');
  const standing = readState(part, toolName ?? '', id ?? '');
  if (toolName === undefined || id === undefined || standing === undefined) return undefined;
  const callId = freeId(id, calls);
  const { mode, origin } = classifyTool(toolName);
  const input = json(part['input']);
  return {
    key: toolCallKey(undefined, callId),
    sessionId: undefined,
    callId,
    toolName,
    displayName: text(part, 'title') ?? toolName,
    mode,
    modeOrigin: origin,
    principal: undefined,
    requestedInput: input,
    inputForm: undefined,
    acceptedInput: input,
    artifacts: [],
    input,
    hidden: [],
    wasCoerced: false,
    wasEdited: false,
    preview: undefined,
    comparison: undefined,
    attempts: [],
    nextAttemptAt: undefined,
    decidedBy: undefined,
    grantId: undefined,
    unresolved: standing.status === 'indeterminate',
    resolution: undefined,
    late: [],
    undo: standing.outcome !== undefined && 'undo' in standing.outcome ? standing.outcome.undo : undefined,
    undone: undefined,
    reached: [],
    log: [],
    requestedAt: undefined,
    startedAt: undefined,
    settledAt: undefined,
    events: [],
    confirmation: confirmationOf(part, toolName, input),
    ...standing,
  };
}

/** Some providers restart their call ids with every response. A part that reuses an id is another call. */
function freeId(id: string, calls: ToolCalls): string {
  for (let count = 1; ; count++) {
    const callId = count === 1 ? id : `${id}~${count}`;
    if (!calls.has(toolCallKey(undefined, callId))) return callId;
  }
}

function toolNameOf(part: JsonObject): string | undefined {
  const type = text(part, 'type') ?? '';
  if (type === 'dynamic-tool') return text(part, 'toolName');
  return type.startsWith('tool-') ? type.slice('tool-'.length) : undefined;
}

type Standing = { readonly status: DisplayStatus; readonly outcome: ToolOutcome | undefined };

function readState(part: JsonObject, toolName: string, callId: string): Standing | undefined {
  const under = (status: DisplayStatus): Standing => ({ status, outcome: undefined });
  const after = (outcome: ToolOutcome): Standing => ({ status: statusOfOutcome(outcome), outcome });
  switch (text(part, 'state') ?? '') {
    case 'input-streaming':
      return under('requested');
    case 'input-available':
      return under('running');
    case 'approval-requested':
      return under('held');
    case 'approval-responded':
      return under(approvalOf(part)['approved'] === true ? 'requested' : 'held');
    case 'output-available':
      if (part['preliminary'] === true) return under('running');
      return after(
        outcomeIn(part['output'], callId) ?? {
          type: 'ToolExecutionResult',
          callId,
          toolName,
          output: json(part['output']) ?? null,
          elapsedMs: 0,
          wasCoerced: false,
        },
      );
    case 'output-error':
      return after({
        type: 'ToolFailure',
        callId,
        toolName,
        code: 'tool.execution_error',
        error: text(part, 'errorText') ?? 'The tool failed.',
        retryable: false,
        elapsedMs: 0,
      });
    case 'output-denied':
      return after({
        type: 'ToolDenied',
        callId,
        toolName,
        code: 'confirmation.rejected',
        reason: 'write_denied',
        details: text(approvalOf(part), 'reason') ?? '',
      });
    default:
      // A newer version's state: unknown here.
      return undefined;
  }
}

/** Our own outcome, if the output holds one for this call. A tool may return the outcome of another call. */
function outcomeIn(output: unknown, callId: string): ToolOutcome | undefined {
  if (!isOutcomeShaped(output)) return undefined;
  // `isOutcomeShaped` has checked the type and its fields.
  const outcome = output as ToolOutcome;
  // If the provider reused the id, the ledger stored the call with a numeric suffix.
  return outcome.callId === callId || outcome.callId.startsWith(`${callId}~`) ? outcome : undefined;
}

function confirmationOf(
  part: JsonObject,
  toolName: string,
  input: JsonValue | undefined,
): ShownConfirmation | undefined {
  const approval = approvalOf(part);
  const confirmationId = text(approval, 'id');
  if (confirmationId === undefined) return undefined;
  const approved = approval['approved'];
  return {
    confirmationId,
    description: text(approval, 'requestReason') ?? `May "${toolName}" run with these arguments?`,
    asks: [],
    risk: [],
    inputDigest: undefined,
    revision: undefined,
    comparison: undefined,
    expiresAt: undefined,
    timeoutEffect: 'block',
    status: approved === true ? 'approved' : approved === false ? 'denied' : 'pending',
    decision: approved === true ? 'approve' : approved === false ? 'deny' : undefined,
    by: undefined,
    reason: text(approval, 'reason'),
    response: undefined,
    votes: [],
    fallen: [],
    missing: [],
    isOpen: part['state'] === 'approval-requested',
    isComplete: input !== undefined,
    // The framework supports only approve and deny: no edited arguments, no response in place of the tool.
    answers: ['approve', 'deny'],
  };
}

const approvalOf = (part: JsonObject): JsonObject => (isJsonObject(part['approval']) ? part['approval'] : {});

function text(holder: JsonObject, key: string): string | undefined {
  const value = Object.hasOwn(holder, key) ? holder[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}

function json(value: unknown): JsonValue | undefined {
  const reading = value === undefined ? undefined : toJson(value);
  return reading?.ok === true ? reading.value : undefined;
}
