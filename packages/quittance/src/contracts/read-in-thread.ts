/**
 * Reads documents in a thread, one after the other, and unpacks them in slices between which the event loop is free.
 */
import { takeSteps } from '../base/steps.ts';
import { TaskThread, taskModule } from '../threads/task-thread.ts';
import type { ContractsOptions } from './contracts-options.ts';
import { toReadOptions } from './contracts-options.ts';
import type { PackedDocument } from './packed-document.ts';
import { unpackDocument } from './packed-document.ts';
import type { DocumentSource, ReadText } from './read-documents.ts';
import { rememberDocuments } from './read-documents.ts';

/** Passes `work` a reader. Its thread ends when the work is done. */
export async function readInThread<T>(
  options: ContractsOptions,
  work: (readText: ReadText) => Promise<T>,
): Promise<T> {
  const thread = new TaskThread<DocumentSource, PackedDocument>({
    module: taskModule('document-task', import.meta.url),
    data: toReadOptions(options),
    // Most of YAML's memory is garbage at once. With more space it piles up: 230 MB for 2,500 rules instead of 65.
    memory: { maxYoungGenerationSizeMb: 4 },
  });
  let last: Promise<unknown> = Promise.resolve();
  const readText = rememberDocuments((document) => {
    const next = last.then(async () => takeSteps(unpackDocument(await thread.order(document))));
    last = next.catch(() => undefined);
    return next;
  });
  try {
    return await work(readText);
  } finally {
    await last;
    void thread.end();
  }
}
