/** Tools that misbehave on purpose, each time in the same way. */
import { QuittanceError } from '../base/error.ts';
import type { Awaitable } from '../base/json.ts';
import { describeUnknownName } from '../base/nearest.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { ToolContext } from '../tool/tool-context.ts';

/** What can be made to go wrong. */
export type FaultName =
  | 'timeout'
  | 'network_error'
  | 'network_error_after'
  | 'invalid_output'
  | 'late_result'
  | 'crash'
  | 'throws_undefined'
  | 'settles_twice'
  | 'reported_error';

export type Fault = {
  /**
   * Which runs of the body: the n-th, from 1, some of them, or those for which a function says so. All of them where
   * it is left out.
   */
  readonly on?: number | readonly number[] | ((args: unknown, run: number) => boolean);
  /** One of the names, or a body to run instead; the real one is its third argument. */
  readonly fault: FaultName | FaultyBody;
};

export type FaultyBody = (args: unknown, context: ToolContext, run: RealBody) => Awaitable<unknown>;
type RealBody = () => Awaitable<unknown>;

/** What each name does. None needs a clock of its own: time passes on that of the runtime. */
const faults: Readonly<Record<FaultName, FaultyBody>> = {
  /** Nothing happens, for ever. */
  timeout: () => new Promise(() => {}),
  /** The connection breaks before anything happened. */
  network_error: () => {
    throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
  },
  /** The connection breaks after everything happened: the worst time to do it again. */
  network_error_after: async (_args, _context, run) => {
    await run();
    throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
  },
  /** It happens, and the answer is something JSON cannot hold. */
  invalid_output: async (_args, _context, run) => {
    await run();
    const circle: { self?: unknown } = {};
    circle.self = circle;
    return circle;
  },
  /** It happens, but only once the deadline has passed. */
  late_result: async (_args, { signal }, run) => {
    if (!signal.aborted)
      await new Promise((resolve) => {
        signal.addEventListener('abort', resolve, { once: true });
      });
    return run();
  },
  /** It happens, and nobody ever hears of it: what a process leaves behind that dies at the wrong moment. */
  crash: async (_args, _context, run) => {
    await run();
    return new Promise(() => {});
  },
  /** It throws, and not even an error. */
  throws_undefined: () => {
    throw undefined;
  },
  /** An answer, another one, and a failure on top. */
  settles_twice: (_args, _context, run) => ({
    // A body in plain JavaScript may return any thenable, and this is one that does not keep the rules.
    // oxlint-disable-next-line unicorn/no-thenable -- being a bad one is the point
    then(resolve: (value: unknown) => void, reject: (error: Error) => void) {
      void Promise.resolve(run()).then((value) => {
        resolve(value);
        resolve({ settled: 'twice' });
        reject(new Error('and failed'));
      }, reject);
    },
  }),
  /** It returns, politely, that it did not work. */
  reported_error: () => ({ is_error: true, error: 'The service is closed.' }),
};

/** The names of the faults. */
export const faultNames: readonly FaultName[] = Object.keys(faults) as FaultName[]; // the keys of that table

/**
 * The same tool with a body that misbehaves when it is told to and is itself otherwise. Runs are counted from 1 over
 * the life of the tool it gives; the first fault that is meant for a run is the one that happens.
 */
export function injectFaults<Given extends AnyTool>(tool: Given, list: readonly Fault[]): Given {
  for (const { fault } of list)
    if (typeof fault !== 'function' && !Object.hasOwn(faults, fault))
      throw new QuittanceError('config.invalid', describeUnknownName('fault', fault, faultNames));
  let runs = 0;
  const run: AnyTool['run'] = (args, context) => {
    const count = ++runs;
    const found = list.find(({ on }) => isMeant(on, args, count));
    const real = (): Awaitable<unknown> => tool.run(args, context);
    if (found === undefined) return real();
    const body: FaultyBody = typeof found.fault === 'function' ? found.fault : faults[found.fault];
    return body(args, context, real);
  };
  return Object.freeze({ ...tool, run });
}

function isMeant(on: Fault['on'], args: unknown, count: number): boolean {
  if (on === undefined) return true;
  if (typeof on === 'function') return on(args, count);
  return typeof on === 'number' ? on === count : on.includes(count);
}
