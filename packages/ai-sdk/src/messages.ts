/**
 * Reads the calls in the messages of a run: model messages, or the UI messages of a page. A client may have written
 * them, so nothing here is trusted.
 */
import { QuittanceError } from 'quittance/internal/base/error';
import type { JsonObject } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';
import { sessionCallId } from 'quittance/internal/call/session-call-id';
import { describeValue } from 'quittance/internal/tool/describe-value';
import type { ConversationStep } from '@quittance/adapter-kit/internal/run/conversation';
import { earlierUses } from '@quittance/adapter-kit/internal/run/conversation';

/** A step of the conversation, with the answers of people. */
type Step =
  | ConversationStep
  | {
      readonly type: 'response';
      readonly id: string;
      readonly approved: boolean;
      readonly reason: string | undefined;
    };

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const objectsIn = (value: unknown): readonly JsonObject[] => listOf(value).filter(isJsonObject);

/** Rejects values that are neither model messages nor UI messages. */
export function refuseNoMessages(messages: unknown): void {
  const expected =
    'takeApprovals expects the messages of the run: model messages ({ role, content }) or UI messages ({ role, parts }).';
  if (!Array.isArray(messages))
    throw new QuittanceError(
      'config.invalid',
      `${expected} Found ${describeValue(messages)}, which is not a list.`,
    );
  for (const [index, message] of (messages as readonly unknown[]).entries())
    if (!isModelMessage(message) && !isUiMessage(message))
      throw new QuittanceError(
        'config.invalid',
        `${expected} Message ${index} is ${describeMessage(message)}.`,
      );
}

const describeMessage = (message: unknown): string =>
  isJsonObject(message)
    ? `an object with the members ${Object.keys(message).slice(0, 8).join(', ') || '(none)'}`
    : describeValue(message);

const modelRoles = new Set<unknown>(['system', 'user', 'assistant', 'tool']);
const uiRoles = new Set<unknown>(['system', 'user', 'assistant']);

const isModelMessage = (message: unknown): boolean =>
  isJsonObject(message) &&
  modelRoles.has(message['role']) &&
  (typeof message['content'] === 'string' || isListOfObjects(message['content']));

const isUiMessage = (message: unknown): message is JsonObject =>
  isJsonObject(message) && uiRoles.has(message['role']) && isListOfObjects(message['parts']);

const isListOfObjects = (value: unknown): boolean => Array.isArray(value) && value.every(isJsonObject);

/** The calls of a conversation: the calls of a message first, then people's answers, then results. */
function* stepsOf(messages: unknown): Generator<Step> {
  /** The call of an approval request, by the id of the request. */
  const asked = new Map<unknown, string>();
  for (const message of listOf(messages))
    if (isUiMessage(message)) yield* uiSteps(message);
    else if (isJsonObject(message)) yield* modelSteps(message, asked);
}

function* modelSteps({ role, content }: JsonObject, asked: Map<unknown, string>): Generator<Step> {
  const parts = objectsIn(content);
  const ids: string[] = [];
  for (const { type, toolCallId: id } of parts)
    if (type === 'tool-call' && typeof id === 'string') ids.push(id);
  if (ids.length > 0) yield { type: 'calls', ids };
  else if (role === 'user' || role === 'assistant') yield { type: 'other' };
  for (const { type, toolCallId, approvalId, approved, reason } of parts) {
    if (type === 'tool-result' && typeof toolCallId === 'string') yield { type: 'answer', id: toolCallId };
    if (type === 'tool-approval-request' && typeof toolCallId === 'string') asked.set(approvalId, toolCallId);
    const about = type === 'tool-approval-response' ? asked.get(approvalId) : undefined;
    if (about !== undefined) yield toResponse(about, approved, reason);
  }
}

const answered = new Set<unknown>(['output-available', 'output-error', 'output-denied']);

/** A UI message holds all steps of an assistant answer, with a separator between them. */
function* uiSteps({ role, parts }: JsonObject): Generator<Step> {
  let step: ToolPart[] = [];
  let hasCalls = false;
  for (const part of [...objectsIn(parts), { type: 'step-start' }]) {
    if (isToolPart(part)) step.push(part);
    if (part['type'] !== 'step-start' || step.length === 0) continue;
    hasCalls = true;
    yield { type: 'calls', ids: step.map(({ toolCallId }) => toolCallId) };
    for (const { toolCallId, approval } of step)
      if (isJsonObject(approval) && approval['approved'] !== undefined && approval['approved'] !== null)
        yield toResponse(toolCallId, approval['approved'], approval['reason']);
    for (const { toolCallId, state } of step)
      if (answered.has(state)) yield { type: 'answer', id: toolCallId };
    step = [];
  }
  if (!hasCalls && role !== 'system') yield { type: 'other' };
}

type ToolPart = JsonObject & { readonly toolCallId: string };

const isToolPart = (part: JsonObject): part is ToolPart =>
  typeof part['type'] === 'string' &&
  (part['type'] === 'dynamic-tool' || part['type'].startsWith('tool-')) &&
  typeof part['toolCallId'] === 'string';

const toResponse = (id: string, approved: unknown, reason: unknown): Step => ({
  type: 'response',
  id,
  approved: approved === true,
  reason: typeof reason === 'string' ? reason : undefined,
});

const isSaid = (step: Step): step is ConversationStep => step.type !== 'response';

/** The call ids of the conversation. */
export const readMessages = (messages: unknown): readonly ConversationStep[] =>
  [...stepsOf(messages)].filter(isSaid);

/** Number of earlier assistant messages that contain this id. */
export const timesUsed = (messages: unknown, toolCallId: string): number =>
  earlierUses(readMessages(messages), toolCallId);

export type ApprovalResponse = {
  readonly toolCallId: string;
  /** Its call, in its session. */
  readonly callId: string;
  readonly approved: boolean;
  readonly reason: string | undefined;
};

/**
 * The answers of people in a conversation, with their calls. The first answer for each call counts. If an id is
 * reused, an answer belongs to the call that had no result at that point.
 */
export function approvalResponses(messages: unknown): readonly ApprovalResponse[] {
  const responses = new Map<string, ApprovalResponse>();
  const before: ConversationStep[] = [];
  for (const step of stepsOf(messages)) {
    if (isSaid(step)) {
      before.push(step);
      continue;
    }
    const { id, approved, reason } = step;
    const callId = sessionCallId(id, earlierUses(before, id));
    if (!responses.has(callId)) responses.set(callId, { toolCallId: id, callId, approved, reason });
  }
  return [...responses.values()];
}
