/**
 * Reads documents in a thread, one after the other, and unpacks them in slices between which the event loop is free.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { takeSteps } from '../base/steps.ts';
import type { ContractsOptions } from './contracts-options.ts';
import { toReadOptions } from './contracts-options.ts';
import type { DocumentThreadAnswer, DocumentThreadOrder } from './document-thread.ts';
import { unpackDocument } from './packed-document.ts';
import type { ReadText } from './read-documents.ts';
import { rememberDocuments } from './read-documents.ts';

/** Passes `work` a reader. Its thread ends when the work is done. */
export async function readInThread<T>(
  options: ContractsOptions,
  work: (readText: ReadText) => Promise<T>,
): Promise<T> {
  const reading = toReadOptions(options);
  const worker = startThread();
  const gone = new AbortController();
  worker.on('error', (error) => gone.abort(error));
  worker.on('exit', () => gone.abort(new Error('The thread that reads contract documents ended.')));
  const send = (order: DocumentThreadOrder): void => worker.postMessage(order);
  let last: Promise<unknown> = Promise.resolve();
  const readText = rememberDocuments((document) => {
    const next = last.then(async () => {
      gone.signal.throwIfAborted();
      const answered = once(worker, 'message', { signal: gone.signal });
      send({ type: 'read', document, options: reading });
      const [answer] = (await answered) as [DocumentThreadAnswer]; // the thread sends nothing else
      return takeSteps(unpackDocument(answer));
    });
    last = next.catch(() => undefined);
    return next;
  });
  try {
    return await work(readText);
  } finally {
    await last;
    send({ type: 'end' });
  }
}

function startThread(): Worker {
  // After a build this file is JavaScript; in the sources it is TypeScript.
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  return new Worker(new URL(`./document-thread${extension}`, import.meta.url), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    // Most of YAML's memory is garbage at once. With more space it piles up: 230 MB for 2,500 rules instead of 65.
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
}
