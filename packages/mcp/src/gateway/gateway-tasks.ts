/**
 * Calls as tasks of 2026-07-28: held calls, and calls whose server answers with a task.
 *
 * 1. The id is signed by the ledger's key, and names the call. Only the caller who made the call can use it.
 * 2. Everything is answered from the call: its questions while it runs, and its settled result afterwards.
 * 3. The task of a server stays between the server and the gateway.
 */
import { MissingRequiredClientCapabilityError, ProtocolError } from '@modelcontextprotocol/server';
import type { Call } from 'quittance/internal/call/call';
import { foldCall } from 'quittance/internal/call/evolve';
import type { ToolOutcome } from 'quittance/internal/call/outcome';
import { isCallEvent } from 'quittance/internal/ledger/fold-stored';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { taskExtension, takesTasks } from '../serve/approvals.ts';
import { isCancelled, toHeldTask } from '../serve/held-task.ts';
import type { ClientRequest } from './client-request.ts';
import { toClientResult } from './client-result.ts';
import type { OpenCall } from './open-call.ts';
import type { Fields, RelayedRequest } from './relayed-request.ts';
import { rpcCodes, textOf } from './relayed-request.ts';
import type { StateSigner } from './signed-state.ts';
import { stateLastsMs } from './signed-state.ts';
import type { ToolCatalog } from './tool-catalog.ts';

export type GatewayTasksOptions = {
  readonly ledger: OpenLedger;
  readonly signer: StateSigner;
  readonly catalog: () => ToolCatalog;
  /** A call that this process makes. */
  readonly findOpen: (sessionId: string, callId: string) => OpenCall | undefined;
  readonly toResult: (sessionId: string, outcome: ToolOutcome) => Promise<Fields>;
  /** Goes on with calls whose process is gone, in the background. */
  readonly takeOver: () => void;
  /** The text that names the call to its client. */
  readonly signState: (call: OpenCall) => string;
};

const cancelReason = 'The client cancelled the task';

export class GatewayTasks {
  readonly #options: GatewayTasksOptions;

  constructor(options: GatewayTasksOptions) {
    this.#options = options;
  }

  /** Answers the client of a call with a task, if the client takes tasks. */
  tell(call: OpenCall): void {
    const { era, capabilities } = call.firstRequest;
    if (!takesTasks(era, capabilities)) return;
    const taskId = this.#options.signState(call);
    const requestedAt = this.#createdAt(taskId);
    call.tellTask(toHeldTask(taskId, { requestedAt, settled: undefined }, { status: 'working' }, 'task'));
  }

  /** Undefined unless the request is about a task. */
  async handle({ method, params }: RelayedRequest, client: ClientRequest): Promise<Fields | undefined> {
    switch (method) {
      case 'tasks/get':
      case 'tasks/update':
      case 'tasks/cancel':
        break;
      default:
        return undefined;
    }
    if (!takesTasks(client.era, client.capabilities))
      throw new MissingRequiredClientCapabilityError({
        requiredCapabilities: { extensions: { [taskExtension]: {} } },
      });
    const { signer, catalog, takeOver, findOpen } = this.#options;
    const taskId = textOf(params?.['taskId']) ?? '';
    const state = signer.read(taskId);
    const isOwn =
      state?.callerId === client.caller.id && (state.mayWrite !== true || !client.caller.readsOnly);
    const { sessionId, callId } = state && isOwn ? state : { sessionId: '', callId: '' };
    const open = findOpen(sessionId, callId);
    const call = await this.#read(sessionId, callId);
    // A call that reads is not in the ledger yet when its server makes a task of it.
    if (state === undefined || (call === undefined && open === undefined))
      throw new ProtocolError(rpcCodes.invalidParams, 'Unknown task');
    const settled = call?.settled;
    // The process that made the call may be gone.
    if (settled === undefined && open === undefined) takeOver();
    switch (method) {
      case 'tasks/get': {
        const requestedAt = this.#createdAt(taskId);
        return toHeldTask(taskId, { requestedAt, settled }, await this.#status(sessionId, settled, open));
      }
      case 'tasks/cancel': {
        const { runtime, release } = catalog().use();
        runtime.turn({ sessionId }).cancel(callId, cancelReason);
        release();
        return {};
      }
      case 'tasks/update':
        open?.answer(client.inputResponses ?? {});
        return {};
    }
  }

  async #read(sessionId: string, callId: string): Promise<Call | undefined> {
    const stored = await this.#options.ledger.readCall(sessionId, callId);
    return stored === undefined ? undefined : foldCall(stored.events.filter(isCallEvent));
  }

  /** The task is as old as its id. */
  #createdAt(taskId: string): number {
    return (this.#options.signer.read(taskId)?.expiresAt ?? 0) - stateLastsMs;
  }

  async #status(sessionId: string, settled: Call['settled'], open: OpenCall | undefined): Promise<Fields> {
    if (settled === undefined) {
      const questions = open?.questions;
      return questions === undefined
        ? { status: 'working' }
        : { status: 'input_required', inputRequests: questions };
    }
    const { outcome } = settled;
    if (isCancelled(outcome)) return { status: 'cancelled' };
    // The effect is unknown, and the client learns that.
    if (
      outcome.type === 'ToolFailure' &&
      outcome.code === 'tool.indeterminate' &&
      outcome.error.includes(cancelReason)
    )
      return { status: 'cancelled', statusMessage: outcome.error };
    try {
      const result = await this.#options.toResult(sessionId, outcome);
      return { status: 'completed', result: { resultType: 'complete', ...toClientResult(result, 'modern') } };
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      const { code, message, data } = error;
      return { status: 'failed', error: { code, message, ...(data !== undefined && { data }) } };
    }
  }
}
