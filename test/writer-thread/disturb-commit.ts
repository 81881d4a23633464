/**
 * Loaded into the writer thread with `--import`. It disturbs a commit as the file next to the ledger says. The file is
 * removed when it is used, so that the disturbance happens once; `slow` stays.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { workerData } from 'node:worker_threads';
import type BetterSqlite3 from 'better-sqlite3';
import type { Disturbance } from './disturbance.ts';
import { disturbancePath } from './disturbance.ts';

const Database = createRequire(import.meta.url)('better-sqlite3') as typeof BetterSqlite3;
const path = disturbancePath((workerData as { path: string }).path);
const { prepare } = Database.prototype as unknown as {
  prepare: (this: BetterSqlite3.Database, sql: string) => unknown;
};

Database.prototype.prepare = function (this: BetterSqlite3.Database, sql: string) {
  const statement = prepare.call(this, sql) as { run(): unknown };
  if (sql !== 'COMMIT') return statement;
  return {
    run() {
      const disturbance = readDisturbance();
      if (disturbance?.when === 'before') disturb(disturbance.how);
      const result = statement.run();
      if (disturbance?.when === 'after') disturb(disturbance.how);
      return result;
    },
  };
} as typeof Database.prototype.prepare;

function readDisturbance(): Disturbance | undefined {
  if (!existsSync(path)) return undefined;
  const disturbance = JSON.parse(readFileSync(path, 'utf8')) as Disturbance;
  if (disturbance.how !== 'slow') rmSync(path);
  return disturbance;
}

function disturb(how: Disturbance['how']): void {
  switch (how) {
    case 'throw':
      // Not inside the transaction: an error of a commit is handled, and this one must not be.
      queueMicrotask(() => {
        throw new Error('a mistake in the writer thread');
      });
      return;
    case 'exit':
      process.exit(7);
      return;
    case 'memory': {
      const kept: unknown[] = [];
      for (;;) kept.push(Array.from({ length: 10_000 }, () => ({})));
    }
    case 'slow':
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
}
