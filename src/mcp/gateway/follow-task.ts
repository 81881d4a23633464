import { ProtocolError } from '@modelcontextprotocol/client';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Exchange } from './connection.ts';
import type { SendToServer } from './open-call.ts';
import type { Fields, RelayedRequest } from './relayed-request.ts';
import { toFields, rpcCodes, textOf } from './relayed-request.ts';

const [leastPollMs, mostPollMs] = [50, 10_000];

/**
 * Follows a task of a server to its end, for the record: the result of the task is the outcome of the call. The client
 * follows the task itself. A task that ends as cancelled may have taken effect.
 */
export async function followTask(
  task: Fields,
  send: (request: RelayedRequest) => Promise<Fields>,
  signal: AbortSignal,
): Promise<Fields> {
  const taskId = textOf(task['taskId']);
  if (taskId === undefined) throw new Error('The server made a task without an id.');
  let seen = task;
  for (;;) {
    const pollMs = Number(seen['pollIntervalMs']) || 1_000;
    await sleep(Math.min(mostPollMs, Math.max(leastPollMs, pollMs)), undefined, { signal });
    seen = await send({ method: 'tasks/get', params: { taskId } });
    switch (seen['status']) {
      case 'completed':
        return toFields(seen['result']);
      case 'failed': {
        const { code, message, data } = toFields(seen['error']);
        throw new ProtocolError(
          typeof code === 'number' ? code : rpcCodes.internal,
          textOf(message) ?? 'The task failed.',
          data,
        );
      }
      case 'cancelled':
        throw new Error('The task was cancelled. It may have taken effect.');
      default:
    }
  }
}

/**
 * The result of a task of a legacy server. The request for it lasts as long as the task. A call that is cancelled
 * cancels the task too.
 */
export async function awaitLegacyTask(
  { taskId }: Fields,
  send: SendToServer,
  exchange: Exchange,
): Promise<Fields> {
  if (typeof taskId !== 'string') throw new Error('The server made a task without an id.');
  const params = { taskId };
  try {
    return await send({ method: 'tasks/result', params }, { ...exchange, headers: undefined });
  } catch (error) {
    if (exchange.signal?.aborted === true)
      await send(
        { method: 'tasks/cancel', params },
        { ...exchange, headers: undefined, signal: undefined },
      ).catch(() => undefined);
    throw error;
  }
}
