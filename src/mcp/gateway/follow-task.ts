/**
 * Tasks of servers. The gateway follows them itself, and the result of a task is the result of the call. Clients never
 * see a task of a server: they get a task of the gateway, which ends with the settled call.
 */
import { ProtocolError } from '@modelcontextprotocol/client';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Exchange } from './connection.ts';
import type { SendToServer } from './open-call.ts';
import { ClientGone } from './open-call.ts';
import type { Fields } from './relayed-request.ts';
import { toFields, rpcCodes, textOf } from './relayed-request.ts';

const [leastPollMs, mostPollMs] = [50, 10_000];
/** A server that never stops to ask would ask without end. */
const mostQuestions = 50;

export type FollowedTask = {
  /** What the server answered to the call. */
  readonly task: Fields;
  readonly send: SendToServer;
  readonly exchange: Exchange;
  /** Puts questions of the server to the client, until the signal. Undefined: the client is gone. */
  readonly ask: ((requests: Fields, signal: AbortSignal) => Promise<Fields>) | undefined;
};

/**
 * Follows a task of a modern server to its end. A call that is cancelled cancels the task too. The gateway goes on to
 * look at the task while the client is asked: the server may ask more, or end the task.
 */
export async function followTask({ task, send, exchange, ask }: FollowedTask): Promise<Fields> {
  const taskId = readTaskId(task);
  const ending = new AbortController();
  const signal =
    exchange.signal === undefined ? ending.signal : AbortSignal.any([exchange.signal, ending.signal]);
  const plain = { ...exchange, headers: undefined, signal };
  /** By key. The server may show a question for a while after it got the answer. */
  const asked = new Set<string>();
  let questions = 0;
  const put = async (key: string, request: unknown): Promise<void> => {
    try {
      if (ask === undefined) throw new ClientGone('The server asks, and the client is gone.');
      let answer: unknown;
      // A client may come back with answers to other questions only.
      while (answer === undefined) answer = (await ask({ [key]: request }, signal))[key];
      if (signal.aborted) return;
      await send({ method: 'tasks/update', params: { taskId, inputResponses: { [key]: answer } } }, plain);
    } catch (error) {
      ending.abort(error);
    }
  };
  const putNew = (requests: Fields): void => {
    for (const key of asked) if (!Object.hasOwn(requests, key)) asked.delete(key);
    for (const [key, request] of Object.entries(requests)) {
      if (asked.has(key)) continue;
      if ((questions += 1) > mostQuestions)
        throw new Error(`The server still asked for input after ${mostQuestions} questions.`);
      asked.add(key);
      void put(key, request);
    }
  };
  try {
    let seen = task;
    for (;;) {
      const pollMs = Number(seen['pollIntervalMs']) || 1_000;
      await sleep(Math.min(mostPollMs, Math.max(leastPollMs, pollMs)), undefined, { signal });
      seen = await send({ method: 'tasks/get', params: { taskId } }, plain);
      switch (seen['status']) {
        case 'completed':
          return toFields(seen['result']);
        case 'failed':
          throw toTaskError(seen['error']);
        case 'cancelled':
          throw new Error('The task was cancelled. It may have taken effect.');
        case 'input_required':
          putNew(toFields(seen['inputRequests']));
          break;
        default:
          putNew({});
      }
    }
  } catch (error) {
    await cancelTask(taskId, send, exchange);
    throw ending.signal.aborted ? ending.signal.reason : error;
  } finally {
    ending.abort(new Error('The task has ended.'));
  }
}

function toTaskError(error: unknown): ProtocolError {
  const { code, message, data } = toFields(error);
  return new ProtocolError(
    typeof code === 'number' ? code : rpcCodes.internal,
    textOf(message) ?? 'The task failed.',
    data,
  );
}

/** The result of a task of a legacy server. The request for it lasts as long as the task. */
export async function awaitLegacyTask(task: Fields, send: SendToServer, exchange: Exchange): Promise<Fields> {
  const taskId = readTaskId(task);
  try {
    return await send({ method: 'tasks/result', params: { taskId } }, { ...exchange, headers: undefined });
  } catch (error) {
    await cancelTask(taskId, send, exchange);
    throw error;
  }
}

function readTaskId({ taskId }: Fields): string {
  if (typeof taskId !== 'string') throw new Error('The server made a task without an id.');
  return taskId;
}

/** Tells the server, if the call was cancelled. */
async function cancelTask(taskId: string, send: SendToServer, exchange: Exchange): Promise<void> {
  if (exchange.signal?.aborted !== true) return;
  const plain = { ...exchange, headers: undefined, signal: undefined };
  await send({ method: 'tasks/cancel', params: { taskId } }, plain).catch(() => undefined);
}
