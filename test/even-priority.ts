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

const sources = new URL('../src/http/', import.meta.url).href;

/** A thread of the server, from the build if that was just made: it starts in two thirds of the time. */
function fromBuild(file: string | URL): string | URL {
  const [, name] = /\/([\w-]+-thread)\.ts$/.exec(String(file)) ?? [];
  if (name === undefined || !isPackageBuilt() || !String(file).startsWith(sources)) return file;
  return new URL(`../dist/${name}.js`, import.meta.url);
}

/** A thread that sets its own arguments does not inherit `--import`, and would not load this file. */
threads.Worker = class extends threads.Worker {
  constructor(file: string | URL, { execArgv = process.execArgv, ...options }: threads.WorkerOptions = {}) {
    const isImported = execArgv.includes(import.meta.url);
    super(fromBuild(file), {
      ...options,
      execArgv: isImported ? [...execArgv] : [...execArgv, '--import', import.meta.url],
    });
  }
};
syncBuiltinESMExports();
