/**
 * Held calls and the clients that wait for them. The decision comes from the console, the command line or a link. The
 * person at the client decides only about tools with `ask: 'in_client'`, and the record names the client then.
 */
import { ProtocolError } from '@modelcontextprotocol/client';
import type { ToolOutcome } from '../../call/outcome.ts';
import { timeText } from '../../base/clock.ts';
import { isQuittanceError } from '../../base/error.ts';
import { isCallEvent } from '../../ledger/fold-stored.ts';
import { foldCall } from '../../call/evolve.ts';
import type { Call } from '../../call/call.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { ApprovalAnswer } from '../serve/approvals.ts';
import {
  approvalWayFor,
  readApprovalAnswer,
  toCheckTool,
  toElicitation,
  toPendingResult,
} from '../serve/approvals.ts';
import type { CallSessions } from './call-sessions.ts';
import type { ClientRequest } from './client-request.ts';
import { progressOf } from './client-request.ts';
import type { HeldCall } from './governed-calls.ts';
import type { Fields, RelayedRequest } from './relayed-request.ts';
import { toFields, rpcCodes, textOf } from './relayed-request.ts';
import type { StateSigner } from './signed-state.ts';
import type { ToolCatalog } from './tool-catalog.ts';

export type HeldCallsOptions = {
  readonly ledger: Ledger;
  readonly sessions: CallSessions;
  readonly signer: StateSigner;
  readonly catalog: () => ToolCatalog;
  readonly consoleUrl: string | undefined;
  readonly toResult: (sessionId: string, outcome: ToolOutcome) => Promise<Fields>;
  /** The text that names the call to its client. */
  readonly signState: (call: HeldCall['call']) => string;
};

/** Clients give up after about a minute without progress. */
const progressEveryMs = 10_000;
const waitWithoutProgressMs = 45_000;
const taskTtlMs = 24 * 3_600_000;
const taskPollMs = 2_000;

export class HeldCalls {
  readonly #options: HeldCallsOptions;

  constructor(options: HeldCallsOptions) {
    this.#options = options;
  }

  async awaitDecision(held: HeldCall): Promise<Fields> {
    const { call, tool, pending, outcome } = held;
    const inClient = tool.setting.ask === 'in_client';
    const { era, capabilities } = call.firstRequest;
    const link = this.#linkTo(pending.confirmationId);
    const way = approvalWayFor(era, capabilities, { hasUrl: link !== undefined, inClient });
    if (way === 'pending') return toPendingResult(pending, this.#checkName());
    if (way === 'task') {
      call.tellTask(this.#toTask(this.#options.signState(call), { status: 'working' }));
      return outcome;
    }
    const question = toElicitation(way, {
      toolName: tool.name,
      pending,
      link,
      arguments: held.arguments,
      inClient,
    });
    for (;;) {
      // A decision from elsewhere ends the wait for the answer.
      const said = await Promise.race([
        outcome.then((result) => ({ result })),
        call.askAll({ approval: question }).then(
          (answers): ApprovalAnswer => readApprovalAnswer(answers['approval'], inClient),
          (): ApprovalAnswer => ({ type: 'leave' }),
        ),
      ]);
      if ('result' in said) return said.result;
      switch (said.type) {
        case 'decide':
          await this.#decide(held, said);
          return outcome;
        case 'leave':
          return toPendingResult(pending, this.#checkName());
        case 'wait': {
          const result = await this.#wait(held);
          if (result !== undefined) return result;
          if (era === 'legacy') return toPendingResult(pending, this.#checkName());
        }
      }
    }
  }

  /** Waits with progress for as long as the client does. Undefined if it cannot be kept waiting. */
  async #wait({ call, outcome }: HeldCall): Promise<Fields | undefined> {
    const client = call.client;
    const progress = client && progressOf(client);
    let sent = 0;
    const { promise: tired, resolve } = Promise.withResolvers<undefined>();
    const timer =
      progress === undefined
        ? setTimeout(() => resolve(undefined), waitWithoutProgressMs)
        : setInterval(() => {
            sent += 1;
            progress({ progress: sent, message: 'Waiting for an approval.' });
          }, progressEveryMs);
    timer.unref();
    try {
      return await Promise.race([outcome, tired]);
    } finally {
      clearInterval(timer);
    }
  }

  /** Records a decision that the person at the client made. */
  async #decide({ call, pending }: HeldCall, answer: ApprovalAnswer & { type: 'decide' }): Promise<void> {
    const { confirmationId } = pending;
    const asked = (await this.#read(call.sessionId, call.callId))?.confirmation;
    if (confirmationId === undefined || asked?.confirmationId !== confirmationId) return;
    const { caller, client } = call.firstRequest;
    const name = textOf(client['name']) ?? 'an MCP client';
    const by = caller.principal.userId ?? caller.id;
    const { runtime, release } = this.#options.catalog().use();
    try {
      await runtime.confirmations.decide(confirmationId, {
        decision: answer.decision,
        by: `${by} (in ${name})`,
        ...(answer.reason !== undefined && { reason: answer.reason }),
        // The question showed exactly this input.
        inputDigest: asked.inputDigest,
        ...(asked.revision !== undefined && { revision: asked.revision }),
      });
    } catch (error) {
      // Another person was first. The outcome tells.
      if (!isQuittanceError(error)) throw error;
    } finally {
      release();
    }
  }

  #linkTo(confirmationId: string | undefined): string | undefined {
    const { consoleUrl } = this.#options;
    if (consoleUrl === undefined || confirmationId === undefined) return undefined;
    return new URL(`/confirmations/${encodeURIComponent(confirmationId)}`, consoleUrl).href;
  }

  /** The tools of the gateway itself. */
  tools(): readonly Fields[] {
    return [toCheckTool(this.#checkName())];
  }

  /** A server may have a tool of that name. */
  #checkName(): string {
    return this.#options.catalog().get('check_call') === undefined ? 'check_call' : 'quittance_check_call';
  }

  /** Undefined unless it is a tool of the gateway itself. */
  async callTool(name: string, params: Fields, client: ClientRequest): Promise<Fields | undefined> {
    if (name !== this.#checkName()) return undefined;
    const callId = textOf(toFields(params['arguments'])['call_id']) ?? '';
    // The session belongs to the caller, so a caller finds only their own calls.
    const sessionId = await this.#options.sessions.find(client);
    const call = await this.#read(sessionId, callId);
    if (call === undefined)
      return {
        content: [{ type: 'text', text: JSON.stringify({ error: `There is no call ${callId}.` }) }],
        isError: true,
      };
    if (call.settled !== undefined) return this.#options.toResult(sessionId, call.settled.outcome);
    return toPendingResult(
      { type: 'pending', callId, confirmationId: call.confirmation?.confirmationId },
      this.#checkName(),
    );
  }

  async #read(sessionId: string, callId: string): Promise<Call | undefined> {
    const stored = await this.#options.ledger.journal.readCall(sessionId, callId);
    return stored === undefined ? undefined : foldCall(stored.events.filter(isCallEvent));
  }

  /** The tasks of held calls. Undefined for tasks of servers. */
  async handleTask({ method, params }: RelayedRequest, client: ClientRequest): Promise<Fields | undefined> {
    const taskId = textOf(params?.['taskId']);
    if (!method.startsWith('tasks/') || taskId?.startsWith('qms1.') !== true) return undefined;
    const state = this.#options.signer.read(taskId);
    if (state === undefined || state.callerId !== client.caller.id)
      throw new ProtocolError(rpcCodes.invalidParams, 'Unknown task');
    const { sessionId, callId } = state;
    const call = await this.#read(sessionId, callId);
    if (call === undefined) throw new ProtocolError(rpcCodes.invalidParams, 'Unknown task');
    switch (method) {
      case 'tasks/get':
        return this.#toTask(taskId, await this.#taskStatus(sessionId, call), 'complete');
      case 'tasks/cancel': {
        const { runtime, release } = this.#options.catalog().use();
        runtime.turn({ sessionId }).cancel(callId, 'The client cancelled the task.');
        release();
        return {};
      }
      case 'tasks/update':
        return {};
      default:
        throw new ProtocolError(rpcCodes.methodNotFound, 'Method not found');
    }
  }

  async #taskStatus(sessionId: string, call: Call): Promise<Fields> {
    if (call.settled === undefined) return { status: 'working' };
    try {
      const result = await this.#options.toResult(sessionId, call.settled.outcome);
      return { status: 'completed', result: { resultType: 'complete', ...result } };
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      const { code, message, data } = error;
      return { status: 'failed', error: { code, message, ...(data !== undefined && { data }) } };
    }
  }

  #toTask(taskId: string, status: Fields, resultType = 'task'): Fields {
    const now = timeText(this.#options.ledger.now());
    return {
      resultType,
      taskId,
      createdAt: now,
      lastUpdatedAt: now,
      ttlMs: taskTtlMs,
      pollIntervalMs: taskPollMs,
      ...status,
    };
  }
}
