/**
 * The approvals of a stopped run. The SDK calls a tool for approved calls and not for rejected ones. Rejections are
 * therefore recorded here, and then this makes the SDK call the tool, which answers with the record. This lets
 * nothing run: the ledger alone decides what was approved, and by whom.
 */
import { isJsonObject } from 'quittance/internal/base/json';
import { withSessionCallId } from '@quittance/adapter-kit/internal/run/conversation';
import type { Driver } from '@quittance/adapter-kit/internal/run/driver';
import type { OpenAiAgentsCall, OpenAiAgentsRunContext, RunOf } from './tool.ts';

/** The parts of the SDK's `RunState` that this adapter uses. Methods, so that the real type matches. */
export interface OpenAiAgentsState {
  readonly _context: OpenAiAgentsRunContext;
  /** The items the run has made so far. */
  readonly _generatedItems?: readonly { readonly type?: string; readonly rawItem?: unknown }[];
  getInterruptions(): OpenAiAgentsInterruption[];
  approve(interruption: never): void;
}

/** A confirmation of the SDK: `RunToolApprovalItem`. */
export interface OpenAiAgentsInterruption {
  readonly name: string | undefined;
  readonly agent: unknown;
  readonly rawItem: { readonly type?: string | undefined };
}

export async function takeApprovals(
  { runtime }: Driver<OpenAiAgentsCall>,
  runOf: RunOf,
  governed: ReadonlySet<string>,
  state: OpenAiAgentsState,
): Promise<void> {
  const { _context: runContext } = state;
  for (const interruption of state.getInterruptions()) {
    const { name = '', agent, rawItem } = interruption;
    const { type, callId, arguments: text } = rawItem as Readonly<Record<string, unknown>>;
    if (type !== 'function_call' || typeof callId !== 'string' || !governed.has(name)) continue;
    const said = runContext.isToolApproved({ toolName: name, callId, agent: agent as never }); // its own agent
    const { run, answered, asked } = runOf(runContext);
    const request = { id: callId, name, arguments: String(text) };
    const { id } = withSessionCallId(request, answered.earlier(callId));
    asked.add(id);
    if (said === true) continue;
    if (said === false)
      await run.deny(id, runContext.getRejectionMessage(name, callId), {
        native: { callId, runContext },
      });
    const [kept] = await runtime.calls.list({ sessionId: run.sessionId, callId: id });
    // Arguments that are not an object stop a run without a confirmation. The tool or the SDK answers them.
    const isAnswered =
      kept === undefined
        ? said === undefined && !isObjectText(text)
        : kept.confirmation?.status !== 'pending';
    if (isAnswered) state.approve(interruption as never); // its own item
  }
}

function isObjectText(text: unknown): boolean {
  try {
    return isJsonObject(JSON.parse(String(text)));
  } catch {
    return false;
  }
}
