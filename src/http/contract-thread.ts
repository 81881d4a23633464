/**
 * A thread without a ledger, for work on documents that callers typed. Its memory is limited, and `ContractThreads` ends it
 * when the work takes too long. That is safe here only: nothing in this thread may open a database.
 */
import { parentPort } from 'node:worker_threads';
import { isQuittanceError } from '../base/error.ts';
import type { ContractOrder, SentError } from './contract-work.ts';
import { toSent, workOnContracts } from './contract-work.ts';
import { behindServer, lowerPriority } from '../runtime/host/lower-priority.ts';
import { nameThisThread } from './thread-clock.ts';

export type ContractThreadAnswer =
  /** The thread can take work. */
  | { readonly type: 'ready'; readonly thread: string | undefined }
  | { readonly type: 'answer'; readonly text: string }
  | { readonly type: 'refused'; readonly error: SentError };

if (parentPort !== null) {
  const port = parentPort;
  lowerPriority(behindServer);
  port.postMessage({ type: 'ready', thread: nameThisThread() } satisfies ContractThreadAnswer);
  port.on('message', (order: ContractOrder) => {
    workOnContracts(order).then(
      (text) => port.postMessage({ type: 'answer', text } satisfies ContractThreadAnswer),
      (error: unknown) => {
        if (!isQuittanceError(error)) throw error; // ends the thread; `ContractThreads` starts another one
        port.postMessage({ type: 'refused', error: toSent(error) } satisfies ContractThreadAnswer);
      },
    );
  });
}
