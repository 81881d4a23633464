/**
 * Tools that start inside of a tool of middleware, such as those of a subagent that `task` of deepagents runs. A
 * subagent has middleware of its own, so its tools would run past the gates. A callback of the framework hears of every
 * tool before its body runs, and refuses what is not governed.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { QuittanceError } from '../../base/error.ts';
import { quote } from '../../base/nearest.ts';

/** A tool that may start, once. What the body of a governed tool starts is part of that body. */
type Start = {
  readonly call: { readonly id?: string | undefined; readonly name: string };
  readonly by: 'governed tool' | 'middleware';
  isUsed: boolean;
};

type Handler = {
  readonly name: string;
  readonly awaitHandlers: true;
  readonly raiseError: true;
  handleToolStart(...args: readonly unknown[]): void;
};

export class InnerTools {
  readonly #starts = new AsyncLocalStorage<Start>();
  readonly #handler: Handler;

  constructor() {
    this.#handler = {
      name: 'quittance_inner_tools',
      // The body waits for the handler, and does not run where it throws.
      awaitHandlers: true,
      raiseError: true,
      handleToolStart: (...args) => {
        // In this place the framework gives the id of the call. It does not give the name of the tool.
        const id = args[7];
        const start = this.#starts.getStore();
        if (start === undefined || (start.isUsed && start.by === 'governed tool')) return;
        if (start.isUsed || (id !== undefined && id !== start.call.id))
          throw refuseInner(id, start.call.name);
        start.isUsed = true;
      },
    };
  }

  /** Runs what starts this tool. */
  starting<Result>(call: Start['call'], by: Start['by'], work: () => Result): Result {
    return this.#starts.run({ call, by, isUsed: false }, work);
  }

  /** The same tool, with a watch over the tools that start inside of it. */
  watch(tool: unknown): unknown {
    if (typeof tool !== 'object' || tool === null) return tool;
    const invoke = Reflect.get(tool, 'invoke') as unknown;
    if (typeof invoke !== 'function') return tool;
    return Object.create(tool, {
      invoke: {
        value: (input: unknown, config: Readonly<Record<string, unknown>> = {}): unknown =>
          Reflect.apply(invoke, tool, [
            input,
            { ...config, callbacks: withHandler(config['callbacks'], this.#handler) },
          ]),
      },
    });
  }
}

/** The framework takes a list of handlers, or its own manager of them. A subagent of a subagent has the handler already. */
function withHandler(callbacks: unknown, handler: Handler): unknown {
  const list: unknown = Array.isArray(callbacks) ? callbacks : memberOf(callbacks, 'handlers');
  const known = Array.isArray(list) ? (list as readonly unknown[]) : [];
  if (known.includes(handler)) return callbacks;
  const copy = memberOf(callbacks, 'copy');
  return typeof copy === 'function'
    ? (Reflect.apply(copy, callbacks, [[handler]]) as unknown)
    : [...known, handler];
}

const memberOf = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? (Reflect.get(value, key) as unknown) : undefined;

const refuseInner = (id: unknown, outer: string): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `A tool would run ungoverned inside of ${quote(outer)}${typeof id === 'string' ? `, for the call ${quote(id)}` : ''}. ` +
      'A subagent has middleware of its own: give every subagent the middleware with wrapToolCall of the same governTools.',
    { tool: outer },
  );
