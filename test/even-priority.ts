/**
 * Loaded first by test processes with a server, and by their threads: keeps the priority of the server's
 * threads. The server lowers it so that its own event loop goes first. Here the other tests keep all cores
 * busy, and such a thread would wait for them, often longer than any timeout.
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
