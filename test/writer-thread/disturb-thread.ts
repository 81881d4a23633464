/**
 * Loaded into the writer thread with `--import`. It disturbs a commit as the file next to the ledger says. The file is
 * removed when it is used, so that the disturbance happens once, unless it lasts. Another file, of the owner, says which
 * settings the connection gets.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import type { StatementSync } from 'node:sqlite';
import { DatabaseSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';
import type { Disturbance } from './disturbance.ts';
import { disturbancePath, pragmasPath } from './disturbance.ts';

const data = workerData as { readonly path: string; readonly ownerId: string };
const path = disturbancePath(data.path);
const prepare = Reflect.get(DatabaseSync.prototype, 'prepare');

DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string): StatementSync {
  const statement = prepare.call(this, sql);
  const run = statement.run.bind(statement);
  if (sql === 'BEGIN IMMEDIATE')
    statement.run = () => {
      for (const pragma of readPragmas()) this.exec(`PRAGMA ${pragma}`);
      return run();
    };
  if (sql === 'COMMIT')
    statement.run = () => {
      const disturbance = readDisturbance();
      if (disturbance?.when === 'before') disturb(disturbance.how);
      const result = run();
      if (disturbance?.when === 'after') disturb(disturbance.how);
      return result;
    };
  return statement;
};

function readPragmas(): readonly string[] {
  const file = pragmasPath(data.ownerId);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as string[]) : [];
}

function readDisturbance(): Disturbance | undefined {
  if (!existsSync(path)) return undefined;
  const disturbance = JSON.parse(readFileSync(path, 'utf8')) as Disturbance;
  if (disturbance.how !== 'slow' && disturbance.isLasting !== true) rmSync(path);
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
