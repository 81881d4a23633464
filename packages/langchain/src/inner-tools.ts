/**
 * Tools that start inside a middleware tool, such as those of a subagent that `task` of deepagents runs. A subagent
 * has its own middleware, so its tools would bypass the gates. A framework callback sees every tool before its
 * function runs, and refuses ungoverned ones.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { QuittanceError } from 'quittance/internal/base/error';
import { quote } from 'quittance/internal/base/nearest';

/** A tool that may start, once. Tools started by a governed tool are part of it. */
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
      // The function waits for the handler, and does not run if it throws.
      awaitHandlers: true,
      raiseError: true,
      handleToolStart: (...args) => {
        // The framework passes the call id at this position. It does not pass the tool's name.
        const id = args[7];
        const start = this.#starts.getStore();
        if (start === undefined || (start.isUsed && start.by === 'governed tool')) return;
        if (start.isUsed || (id !== undefined && id !== start.call.id))
          throw refuseInner(id, start.call.name);
        start.isUsed = true;
      },
    };
  }

  /** Runs the code that starts this tool. */
  starting<Result>(call: Start['call'], by: Start['by'], work: () => Result): Result {
    return this.#starts.run({ call, by, isUsed: false }, work);
  }

  /** The same tool, watching the tools that start inside it. */
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

/** The framework accepts a list of handlers, or its own manager of them. A nested subagent already has the handler. */
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
    `A tool would run ungoverned inside ${quote(outer)}${typeof id === 'string' ? `, for the call ${quote(id)}` : ''}. ` +
      'A subagent has its own middleware: give every subagent the middleware with wrapToolCall of the ' +
      'same governTools.',
    { tool: outer },
  );
