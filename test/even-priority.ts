/**
 * Loaded first by test processes with a server, and by their threads. Keeps the priority of the server's
 * threads: the server lowers it so that its own event loop goes first. Here the other tests keep all cores
 * busy, and such a thread would wait for them, often longer than any timeout. Starts these threads from the
 * build if there is one. All of them share compiled modules, even a process without the environment of the tests.
 */
import { enableCompileCache, syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import threads from 'node:worker_threads';
import { isPackageBuilt } from './frameworks/suite/package-arguments.ts';

os.setPriority = () => undefined;
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url)));

const sources = new URL('../packages/server/src/http/', import.meta.url).href;

/** A thread with a task of the server, from the build if that was just made: it starts in two thirds of the time. */
function fromBuild(
  file: string | URL,
  workerData: unknown,
): { readonly file: string | URL; readonly workerData: unknown } {
  const { module } = (workerData ?? {}) as { readonly module?: string };
  const [, name] = /\/([\w-]+-task)\.ts$/.exec(module ?? '') ?? [];
  if (name === undefined || !isPackageBuilt() || module?.startsWith(sources) !== true)
    return { file, workerData };
  const built = (each: string): URL => new URL(`../packages/${each}.js`, import.meta.url);
  return {
    file: built('quittance/dist/work-thread'),
    workerData: { ...(workerData as object), module: built(`server/dist/${name}`).href },
  };
}

/** A thread that sets its own arguments does not inherit `--import`, and would not load this file. */
threads.Worker = class extends threads.Worker {
  constructor(
    path: string | URL,
    { execArgv = process.execArgv, workerData: data, ...options }: threads.WorkerOptions = {},
  ) {
    const isImported = execArgv.includes(import.meta.url);
    const { file, workerData } = fromBuild(path, data as unknown);
    super(file, {
      ...options,
      workerData,
      execArgv: isImported ? [...execArgv] : [...execArgv, '--import', import.meta.url],
    });
  }
};
syncBuiltinESMExports();
