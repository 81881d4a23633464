/** Tasks of the fixture server (SEP-2663): long tool calls whose results are fetched later. */
import { randomUUID } from 'node:crypto';
import { MissingRequiredClientCapabilityError, ProtocolError } from '@modelcontextprotocol/server';
import type { ServerContext } from '@modelcontextprotocol/server';

export const tasksExtension = 'io.modelcontextprotocol/tasks';

type Facts = Record<string, unknown>;

export type Task = {
  readonly facts: Facts & { readonly taskId: string; status: string; inputRequests?: Facts };
  timer?: NodeJS.Timeout;
  whenAnswered?: (() => void) | undefined;
};

const ended = ['completed', 'failed', 'cancelled'];

/** All tasks of one fixture process, for every connection. */
export class FixtureTasks {
  readonly #tasks = new Map<string, Task>();

  /** The result of a call that became a task. */
  create(start: (task: Task) => void): Facts {
    const now = new Date().toISOString();
    const task: Task = {
      facts: {
        taskId: randomUUID(),
        status: 'working',
        createdAt: now,
        lastUpdatedAt: now,
        ttlMs: 60_000,
        pollIntervalMs: 100,
      },
    };
    this.#tasks.set(task.facts.taskId, task);
    start(task);
    return { resultType: 'task', ...task.facts };
  }

  after(task: Task, delayMs: number, result: Facts): void {
    task.timer = setTimeout(() => this.complete(task, result), delayMs);
  }

  failAfter(task: Task, delayMs: number): void {
    const error = { code: -32_603, message: 'Internal error' };
    task.timer = setTimeout(() => this.#end(task, { status: 'failed', error }), delayMs);
  }

  complete(task: Task, result: Facts): void {
    this.#end(task, { status: 'completed', result: { resultType: 'complete', ...result } });
  }

  ask(task: Task, inputRequests: Facts, whenAnswered: () => void): void {
    Object.assign(task.facts, { status: 'input_required', inputRequests });
    task.whenAnswered = whenAnswered;
  }

  #end({ facts }: Task, change: Facts): void {
    if (ended.includes(facts.status)) return;
    delete facts.inputRequests;
    Object.assign(facts, change, { lastUpdatedAt: new Date().toISOString() });
  }

  /** Serves `tasks/get`, `tasks/update` and `tasks/cancel`. */
  serve(method: string, params: Facts, ctx: ServerContext): Facts {
    requireTasks(ctx);
    const task = this.#tasks.get(String(params['taskId']));
    if (task === undefined) throw new ProtocolError(-32_602, `Unknown task ${String(params['taskId'])}`);
    if (method === 'tasks/get') return { ...task.facts };
    if (method === 'tasks/cancel') {
      clearTimeout(task.timer);
      this.#end(task, { status: 'cancelled' });
      return {};
    }
    const { facts } = task;
    for (const key of Object.keys(ctx.mcpReq.inputResponses ?? {})) delete facts.inputRequests?.[key];
    if (facts.status === 'input_required' && Object.keys(facts.inputRequests ?? {}).length === 0) {
      facts.status = 'working';
      delete facts.inputRequests;
      task.whenAnswered?.();
    }
    return {};
  }
}

export function clientCapabilities(ctx: ServerContext): Facts {
  const envelope = ctx.mcpReq.envelope as Facts | undefined;
  return (envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {}) as Facts;
}

export const mayUseTasks = (ctx: ServerContext): boolean =>
  (clientCapabilities(ctx)['extensions'] as Facts | undefined)?.[tasksExtension] !== undefined;

export function requireTasks(ctx: ServerContext): void {
  if (mayUseTasks(ctx)) return;
  throw new MissingRequiredClientCapabilityError({
    requiredCapabilities: { extensions: { [tasksExtension]: {} } },
  });
}
