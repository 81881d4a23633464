/**
 * Held calls and the clients that wait for them. The decision comes from the console, the command line or a link. The
 * person at the client decides only if the host allows it for every reason to ask. The tool needs `ask: 'in_client'`, and
 * `askInClient` lists the rules. The record names the client then.
 */
import type { ToolOutcome } from 'quittance/internal/call/outcome';
import { isQuittanceError } from 'quittance/internal/base/error';
import { safeText } from 'quittance/internal/base/safe-text';
import { isCallEvent } from 'quittance/internal/ledger/fold-stored';
import { foldCall } from 'quittance/internal/call/evolve';
import type { Call, Confirmation } from 'quittance/internal/call/call';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { ApprovalAnswer } from '../serve/approvals.ts';
import {
  approvalWayFor,
  isShownWhole,
  readApprovalAnswer,
  toCheckTool,
  toElicitation,
  toOpenResult,
  toPendingResult,
} from '../serve/approvals.ts';
import { mayAnswerInClient } from '../serve/may-answer-in-client.ts';
import type { CallSessions } from './call-sessions.ts';
import { checkName, otherCheckName } from './check-name.ts';
import type { ClientRequest } from './client-request.ts';
import { progressOf } from './client-request.ts';
import type { HeldCall } from './governed-calls.ts';
import type { Fields } from './relayed-request.ts';
import { toFields, textOf } from './relayed-request.ts';
import type { ToolCatalog } from './tool-catalog.ts';
import { findCalls } from 'quittance/internal/ledger/reads';

export type HeldCallsOptions = {
  readonly ledger: OpenLedger;
  readonly sessions: CallSessions;
  readonly catalog: () => ToolCatalog;
  readonly consoleUrl: string | undefined;
  /** Rules of contracts whose questions the person at the client may answer. */
  readonly askInClient: readonly string[];
  readonly toResult: (sessionId: string, outcome: ToolOutcome) => Promise<Fields>;
  /** Goes on with calls whose process is gone, in the background. */
  readonly takeOver: () => void;
  /** Answers the client with a task that ends with the call. */
  readonly tellTask: (call: HeldCall['call']) => void;
};

/** Clients give up after about a minute without progress. */
const progressEveryMs = 10_000;
const waitWithoutProgressMs = 45_000;

export class HeldCalls {
  readonly #options: HeldCallsOptions;

  constructor(options: HeldCallsOptions) {
    this.#options = options;
  }

  async awaitDecision(held: HeldCall): Promise<Fields> {
    const { call, tool, pending, outcome } = held;
    const asked = await this.#read(call.sessionId, call.callId);
    const { confirmation } = asked ?? {};
    // It was decided meanwhile.
    if (asked === undefined || confirmation?.status !== 'pending') return outcome;
    const { era, capabilities } = call.firstRequest;
    const input = asked.effectiveInput ?? asked.requestedInput;
    const inClient = isShownWhole(input) && this.#isForClient(tool, confirmation);
    const link = this.#linkTo(pending.confirmationId);
    const way = approvalWayFor(era, capabilities, { hasUrl: link !== undefined, inClient });
    if (way === 'pending') return toPendingResult(pending, this.#checkName());
    if (way === 'task') {
      this.#options.tellTask(call);
      return outcome;
    }
    const question = toElicitation(way, {
      toolName: tool.name,
      pending,
      link,
      arguments: input,
      inClient,
    });
    for (;;) {
      // The answer counts even if the client has the pending result by then.
      const answered = call.askAll({ approval: question }).then(
        async (answers): Promise<ApprovalAnswer> => {
          const answer = readApprovalAnswer(answers['approval'], inClient);
          if (answer.type === 'decide') await this.#decide(held, confirmation, answer);
          return answer;
        },
        (): ApprovalAnswer => ({ type: 'leave' }),
      );
      answered.catch(() => undefined);
      // A decision from elsewhere ends the wait for the answer.
      const said = Promise.race([outcome.then((result) => ({ type: 'ended', result }) as const), answered]);
      // The request of a modern client ends with the question. A legacy client waits for its result meanwhile.
      const next = era === 'legacy' ? await keepWaiting(call, said) : await said;
      switch (next?.type) {
        case 'ended':
          return next.result;
        case 'decide':
          return outcome;
        case 'leave':
        case undefined:
          return toPendingResult(pending, this.#checkName());
        case 'wait': {
          const result = await keepWaiting(call, outcome);
          if (result !== undefined) return result;
          if (era === 'legacy') return toPendingResult(pending, this.#checkName());
        }
      }
    }
  }

  /** Does the host let the person at the client answer every question about this call? */
  #isForClient({ setting }: HeldCall['tool'], { asks }: Confirmation): boolean {
    return mayAnswerInClient(asks, ({ by }, isOfTool) =>
      isOfTool
        ? setting.ask === 'in_client'
        : by.type === 'rule' && this.#options.askInClient.includes(by.name),
    );
  }

  /** Records a decision that the person at the client made. */
  async #decide(
    { call }: HeldCall,
    { confirmationId, inputDigest, revision }: Confirmation,
    answer: ApprovalAnswer & { type: 'decide' },
  ): Promise<void> {
    const { caller, client } = call.firstRequest;
    const name = safeText(textOf(client['name']) ?? 'an MCP client').slice(0, 100);
    const by = caller.principal.userId ?? caller.id;
    const { runtime, release } = this.#options.catalog().use();
    try {
      await runtime.confirmations.decide(confirmationId, {
        decision: answer.decision,
        by: `${by} (in ${name})`,
        ...(answer.reason !== undefined && { reason: answer.reason }),
        // The question showed exactly this input.
        inputDigest,
        ...(revision !== undefined && { revision }),
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
    return this.#options.catalog().get(checkName) === undefined ? checkName : otherCheckName;
  }

  /** Undefined unless it is a tool of the gateway itself. */
  async callTool(name: string, params: Fields, client: ClientRequest): Promise<Fields | undefined> {
    if (name !== this.#checkName()) return undefined;
    const callId = textOf(toFields(params['arguments'])['call_id']) ?? '';
    const sessionId = await this.#findSession(callId, client);
    const call = sessionId === undefined ? undefined : await this.#read(sessionId, callId);
    if (call === undefined || sessionId === undefined)
      return {
        content: [{ type: 'text', text: JSON.stringify({ error: 'There is no call with this call_id.' }) }],
        isError: true,
      };
    if (call.settled !== undefined) return this.#options.toResult(sessionId, call.settled.outcome);
    // The process that held it may be gone.
    this.#options.takeOver();
    return toOpenResult(call, this.#checkName());
  }

  /** Sessions belong to callers, so a caller finds only their own calls. A decision may come after a session has ended. */
  async #findSession(callId: string, client: ClientRequest): Promise<string | undefined> {
    const { sessions, ledger } = this.#options;
    const current = await sessions.find(client);
    if (callId === '' || (await ledger.readCall(current, callId)) !== undefined) return current;
    const { rows } = await findCalls(ledger, { idStart: callId, limit: 100 });
    return rows.find((row) => row.callId === callId && sessions.isOf(row.sessionId, client.caller))
      ?.sessionId;
  }

  async #read(sessionId: string, callId: string): Promise<Call | undefined> {
    const stored = await this.#options.ledger.readCall(sessionId, callId);
    return stored === undefined ? undefined : foldCall(stored.events.filter(isCallEvent));
  }
}

/** Waits with progress for as long as the client does. Undefined if it cannot be kept waiting. */
async function keepWaiting<Result>(
  { client }: HeldCall['call'],
  waiting: Promise<Result>,
): Promise<Result | undefined> {
  const progress = client && progressOf(client);
  const { promise: tired, resolve } = Promise.withResolvers<undefined>();
  const tell = (): void => progress?.({ progress: 0, message: 'Waiting for an approval.' });
  tell();
  const timer =
    progress === undefined
      ? setTimeout(() => resolve(undefined), waitWithoutProgressMs)
      : setInterval(tell, progressEveryMs);
  timer.unref();
  try {
    return await Promise.race([waiting, tired]);
  } finally {
    clearInterval(timer);
  }
}
