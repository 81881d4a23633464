/** The thread that fills the read tables for a busy process. `Filler` starts it and tells it when to fill. */
import type { MessagePort } from 'node:worker_threads';
import { parentPort, workerData } from 'node:worker_threads';
import { behindCalls, lowerPriority } from '../../runtime/host/lower-priority.ts';
import { PgPool } from './pg-pool.ts';
import { projectStep } from './projection.ts';
import type { PostgresSettings } from './settings.ts';

export type FillerThreadRequest = 'fill' | 'end';

/** The answer to `fill`: do the tables say all that was committed before the request? */
export type FillerThreadAnswer = boolean;

if (parentPort !== null) serve(parentPort, workerData as PostgresSettings);

function serve(port: MessagePort, settings: PostgresSettings): void {
  lowerPriority(behindCalls);
  const pool = new PgPool(settings);
  let isOver = false;
  let filling: Promise<void> = Promise.resolve();

  const fill = async (): Promise<void> => {
    let isDone = false;
    try {
      while (!isOver && !isDone) isDone = !(await projectStep(pool));
    } catch {
      // The process fills the tables itself, and reports what it meets.
    }
    port.postMessage(isDone satisfies FillerThreadAnswer);
  };

  const end = async (): Promise<void> => {
    isOver = true;
    await filling;
    await pool.close();
    port.close();
  };

  port.on('message', (request: FillerThreadRequest) => {
    if (request === 'end') void end();
    else filling = filling.then(fill);
  });
}
