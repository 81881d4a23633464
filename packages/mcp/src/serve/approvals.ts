/**
 * How an MCP client hears of a held call, and what it may answer. Nothing in the stream approves a call,
 * unless the host allows the person at the client to decide about this tool.
 */
import type { Call } from 'quittance/internal/call/call';
import { visibleForeignText, visibleJson } from 'quittance/internal/base/safe-text';
import type { PendingCall } from 'quittance/internal/runtime/turn';

type Fields = { readonly [name: string]: unknown };

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

/** The ways in which a client can wait for a person, best first. */
export type ApprovalWay = 'task' | 'elicit_url' | 'elicit_form' | 'pending';

export const taskExtension = 'io.modelcontextprotocol/tasks';

/** Did the client say that it takes tasks as answers? */
export const takesTasks = (era: 'legacy' | 'modern', { extensions }: Fields): boolean =>
  era === 'modern' && fieldsOf(extensions)[taskExtension] !== undefined;

export function approvalWayFor(
  era: 'legacy' | 'modern',
  capabilities: Fields,
  asked: { readonly hasUrl: boolean; readonly inClient: boolean },
): ApprovalWay {
  const { elicitation } = capabilities;
  if (asked.inClient && isFields(elicitation)) return 'elicit_form';
  if (takesTasks(era, capabilities)) return 'task';
  if (!isFields(elicitation)) return 'pending';
  return asked.hasUrl && elicitation['url'] !== undefined ? 'elicit_url' : 'elicit_form';
}

export type ApprovalQuestion = {
  readonly toolName: string;
  readonly pending: PendingCall;
  /** Page on which a person decides. */
  readonly link: string | undefined;
  readonly arguments: unknown;
  readonly inClient: boolean;
};

/** Longer arguments are cut in a question. */
const mostShown = 2_000;

/** Does a question show the whole input? An answer in the client must not approve what it does not show. */
export const isShownWhole = (input: unknown): boolean => visibleJson(input).length <= mostShown;

/** The question for the person at the client, as `elicitation/create`. The model does not read it. */
export function toElicitation(
  way: 'elicit_url' | 'elicit_form',
  { toolName, pending, link, arguments: args, inClient }: ApprovalQuestion,
): { readonly method: 'elicitation/create'; readonly params: Fields } {
  const why = pending.waitsFor === undefined ? '' : ` ${visibleForeignText(pending.waitsFor)}`;
  const shown = visibleJson(args);
  const input = shown.length > mostShown ? `${shown.slice(0, mostShown)}…` : shown;
  const what = `The tool "${visibleForeignText(toolName)}" waits for an approval.${why}\nArguments: ${input}`;
  const id = pending.confirmationId ?? pending.callId;
  if (inClient)
    return {
      method: 'elicitation/create',
      params: {
        mode: 'form',
        message: what,
        requestedSchema: {
          type: 'object',
          properties: {
            decision: { type: 'string', title: 'Decision', enum: ['approve', 'deny'] },
            reason: { type: 'string', title: 'Reason' },
          },
          required: ['decision'],
        },
      },
    };
  if (way === 'elicit_url' && link !== undefined)
    return {
      method: 'elicitation/create',
      params: { mode: 'url', message: what, url: link, elicitationId: id },
    };
  const where = link === undefined ? `Run: quittance approve ${id}` : `Decide here: ${link}`;
  return {
    method: 'elicitation/create',
    params: {
      mode: 'form',
      message: `${what}\n${where}\nAccept to wait for the decision. Accepting does not approve the call.`,
      requestedSchema: { type: 'object', properties: {} },
    },
  };
}

/** What an answer to the question means. */
export type ApprovalAnswer =
  | { readonly type: 'decide'; readonly decision: 'approve' | 'deny'; readonly reason: string | undefined }
  /** The client waits for the decision. */
  | { readonly type: 'wait' }
  /** The client does not wait. The call stays held. */
  | { readonly type: 'leave' };

export function readApprovalAnswer(answer: unknown, inClient: boolean): ApprovalAnswer {
  const { action, content } = fieldsOf(answer);
  const { decision, reason } = fieldsOf(content);
  const because = typeof reason === 'string' && reason.trim() !== '' ? reason : undefined;
  if (inClient && action === 'accept' && decision === 'approve')
    return { type: 'decide', decision, reason: because };
  // Only a clear yes approves.
  if (inClient && (action === 'accept' || action === 'decline'))
    return { type: 'decide', decision: 'deny', reason: because };
  return action === 'accept' ? { type: 'wait' } : { type: 'leave' };
}

/** The result for a client that cannot wait. It tells the model how to ask later. */
export const toPendingResult = ({ callId, waitsFor }: PendingCall, checkTool: string): Fields => ({
  content: [
    {
      type: 'text',
      text: JSON.stringify({
        status: 'pending',
        call_id: callId,
        message: `This call has not run. It waits for a person.${waitsFor === undefined ? '' : ` ${waitsFor}`} Do not make the call again. To learn what became of it, call ${checkTool} with this call_id.`,
      }),
    },
  ],
  isError: true,
  _meta: { 'quittance/outcome': { callId, type: 'pending' } },
});

/** The result of `check_call` for a call that has not ended. A call may wait for a person no longer. */
export const toOpenResult = ({ callId, status, confirmation }: Call, checkTool: string): Fields =>
  status === 'held'
    ? toPendingResult({ type: 'pending', callId, confirmationId: confirmation.confirmationId }, checkTool)
    : {
        content: [
          {
            type: 'text',
            text: JSON.stringify({
              status: 'running',
              call_id: callId,
              message: `This call waits for no person, and has not ended yet. Do not make the call again. To learn what became of it, call ${checkTool} with this call_id later.`,
            }),
          },
        ],
        isError: true,
        _meta: { 'quittance/outcome': { callId, type: 'pending' } },
      };

/** The tool that tells what became of a pending call. */
export const toCheckTool = (name: string): Fields => ({
  name,
  title: 'Check a pending call',
  description:
    'Tells what became of a call that waits for a person. Returns the result once the call has ended. Pass the call_id from the pending result.',
  inputSchema: {
    type: 'object',
    properties: { call_id: { type: 'string', description: 'The call_id of the pending result.' } },
    required: ['call_id'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
});
