/**
 * Loaded before anything else by the processes of a test run that have a server, and by their threads. The threads of a
 * server lower their priority, so that its event loop goes first. Here other tests keep all processors busy, and such a
 * thread would wait for them. So it keeps its priority.
 */
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import threads from 'node:worker_threads';

os.setPriority = () => undefined;

/** A thread that sets its own arguments does not inherit `--import`, and would not load this file. */
threads.Worker = class extends threads.Worker {
  constructor(file: string | URL, { execArgv = process.execArgv, ...options }: threads.WorkerOptions = {}) {
    const isImported = execArgv.includes(import.meta.url);
    super(file, {
      ...options,
      execArgv: isImported ? [...execArgv] : [...execArgv, '--import', import.meta.url],
    });
  }
};
syncBuiltinESMExports();
