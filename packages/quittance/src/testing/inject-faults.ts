/** Tools that fail on purpose, in a repeatable way. */
import { QuittanceError } from '../base/error.ts';
import type { Awaitable } from '../base/json.ts';
import { describeUnknownName } from '../base/nearest.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { ToolContext } from '../tool/tool-context.ts';

/** The faults that can be injected. */
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
  /** The affected runs: the n-th (from 1), a list, or a function that selects them. All runs if left out. */
  readonly on?: number | readonly number[] | ((args: unknown, run: number) => boolean);
  /** One of the names, or a function to run instead; the real one is its third argument. */
  readonly fault: FaultName | FaultyBody;
};

export type FaultyBody = (args: unknown, context: ToolContext, run: RealBody) => Awaitable<unknown>;
type RealBody = () => Awaitable<unknown>;

/** The behavior of each fault. None needs its own clock: time passes on the runtime's. */
const faults: Readonly<Record<FaultName, FaultyBody>> = {
  /** Never ends. */
  timeout: () => new Promise(() => {}),
  /** The connection breaks before the effect. */
  network_error: () => {
    throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
  },
  /** The connection breaks after the effect: the worst time for a retry. */
  network_error_after: async (_args, _context, run) => {
    await run();
    throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
  },
  /** The effect happens, and the output is not valid JSON. */
  invalid_output: async (_args, _context, run) => {
    await run();
    const circle: { self?: unknown } = {};
    circle.self = circle;
    return circle;
  },
  /** The effect happens after the deadline. */
  late_result: async (_args, { signal }, run) => {
    if (!signal.aborted)
      await new Promise((resolve) => {
        signal.addEventListener('abort', resolve, { once: true });
      });
    return run();
  },
  /** The effect happens, and no result arrives: as after a crash at the wrong moment. */
  crash: async (_args, _context, run) => {
    await run();
    return new Promise(() => {});
  },
  /** Throws a value that is not an error. */
  throws_undefined: () => {
    throw undefined;
  },
  /** Answers twice, and fails too. */
  settles_twice: (_args, _context, run) => ({
    // Plain JavaScript can return any thenable; this one breaks the rules.
    // oxlint-disable-next-line unicorn/no-thenable -- being a bad one is the point
    then(resolve: (value: unknown) => void, reject: (error: Error) => void) {
      void Promise.resolve(run()).then((value) => {
        resolve(value);
        resolve({ settled: 'twice' });
        reject(new Error('and failed'));
      }, reject);
    },
  }),
  /** Returns an error instead of throwing it. */
  reported_error: () => ({ is_error: true, error: 'The service is closed.' }),
};

/** The names of the faults. */
export const faultNames: readonly FaultName[] = Object.keys(faults) as FaultName[]; // the keys of that table

/**
 * The same tool with a function that fails in the selected runs and works in the others. Runs are counted from 1 over
 * the life of the returned tool. The first fault that selects a run applies.
 */
export function injectFaults<Given extends AnyTool>(tool: Given, list: readonly Fault[]): Given {
  const isList: boolean =
    Array.isArray(list) && list.every((each) => typeof each === 'object' && each !== null);
  if (!isList)
    throw new QuittanceError('config.invalid', 'injectFaults takes an array of faults: [{ fault, on }].');
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
