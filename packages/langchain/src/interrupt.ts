/**
 * Held calls as LangGraph interrupts. A tool node runs all calls of a message as one task. It gives the first
 * interrupt of that task the first answer, so a call may receive the answer to another. An answer therefore counts
 * for the confirmation it names, whichever call received it. An answer that names none is ignored.
 */
import { QuittanceError } from 'quittance/internal/base/error';
import type { JsonValue } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';
import type { Call, Confirmation } from 'quittance/internal/call/call';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { ToolCallInput } from 'quittance/internal/runtime/call-options';
import type { Answer } from '@quittance/adapter-kit/internal/answer/answer';
import type { CallGiven, Run } from '@quittance/adapter-kit/internal/run/driver';
import type { InterruptOn } from './interrupt-on.ts';
import type { LangChainCall, LangChainConfig } from './call.ts';

/** The value of the interrupt. */
export type LangChainQuestion = {
  type: 'quittance.confirmation';
  confirmationId: string;
  callId: string;
  toolName: string;
  /** The input of the tool, in stored form. */
  arguments: JsonValue;
  description: string;
};

/** The value to resume a run with: `new Command({ resume })`. One decision, or a list. */
export type LangChainDecision = {
  readonly confirmationId: string;
  readonly approved: boolean;
  readonly reason?: string;
};

/** Answers that another call of the run received. */
export type Shelf = Map<string, LangChainDecision>;

type Interrupting = {
  readonly runtime: Runtime;
  readonly interruptOn: InterruptOn;
  readonly run: Run<LangChainCall>;
  readonly shelf: Shelf;
};

/** Makes the call; if it is held, stops the run until its confirmation is decided. */
export async function callOrInterrupt(
  { runtime, interruptOn, run, shelf }: Interrupting,
  request: ToolCallInput,
  given: CallGiven<LangChainCall> & { readonly native: LangChainCall },
): Promise<Answer> {
  const { native } = given;
  for (;;) {
    const made = await run.callOrPending(request, given);
    if (made.type !== 'pending') return made;
    const { confirmationId } = made;
    // Another process runs the call, and no approval is needed.
    if (confirmationId === undefined) return run.call(request, given);
    const [held] = await runtime.calls.list({ sessionId: run.sessionId, callId: request.id });
    // It was decided meanwhile.
    if (held?.confirmation?.confirmationId !== confirmationId) continue;
    const question = await toQuestion(held, held.confirmation, interruptOn, native.config);
    // No await between this check and the interrupt: the call that received the answer has stored it here.
    if (!shelf.has(confirmationId))
      for (const decision of readDecisions(interrupt(native.config, question)))
        shelf.set(decision.confirmationId, decision);
    const decision = shelf.get(confirmationId);
    shelf.delete(confirmationId);
    if (decision?.approved === false) await run.deny(request.id, decision.reason, { native });
    if (decision?.approved !== true) continue;
    const approved = await run.callApproved(request, given);
    if (approved.type !== 'pending') return approved;
  }
}

async function toQuestion(
  { callId, toolName, requestedInput, effectiveInput }: Call,
  { confirmationId, asks }: Confirmation,
  interruptOn: InterruptOn,
  config: LangChainConfig,
): Promise<LangChainQuestion> {
  const args = effectiveInput ?? requestedInput;
  const said = await interruptOn.describe(toolName, args, config);
  return {
    type: 'quittance.confirmation',
    confirmationId,
    callId,
    toolName,
    arguments: args,
    description: asks
      .map(({ by, description }) => (by.name === 'needsApproval' ? (said ?? description) : description))
      .join(' '),
  };
}

function interrupt(config: LangChainConfig, question: LangChainQuestion): unknown {
  try {
    return config.interrupt?.(question as never); // it accepts any JSON value
  } catch (error) {
    const { lc_error_code: code } = error as { readonly lc_error_code?: unknown }; // the framework's own error code
    throw code === 'MISSING_CHECKPOINTER' ? refuseToStop('has no checkpointer to stop with', error) : error;
  }
}

/** Throws if a run could not stop, before a person is asked. */
export function checkCanStop({ interrupt: stop }: LangChainConfig): void {
  if (typeof stop !== 'function') throw refuseToStop('is not a LangGraph run');
}

const refuseToStop = (why: string, cause?: unknown): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `With approver, a held call stops the run, but this run ${why}. Create the agent or the graph ` +
      'with a checkpointer, such as createAgent({ …, checkpointer: new MemorySaver() }), or leave ' +
      'approver out: then the call waits.',
    {},
    cause,
  );

function readDecisions(resumed: unknown): readonly LangChainDecision[] {
  return [resumed].flat().flatMap((given: unknown) => {
    if (!isJsonObject(given)) return [];
    const { confirmationId, approved, reason } = given;
    if (typeof confirmationId !== 'string' || typeof approved !== 'boolean') return [];
    return [{ confirmationId, approved, ...(typeof reason === 'string' && { reason }) }];
  });
}
