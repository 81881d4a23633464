/**
 * Reads contract documents in a thread: a long document takes a second of YAML and patterns, and no call should wait
 * for that.
 */
import { readDocument } from '../policy/read/parse-document.ts';
import type { ReadOptions } from '../policy/read/read-options.ts';
import type { BeginTask } from '../threads/work-thread.ts';
import type { PackedDocument } from './packed-document.ts';
import { packDocument } from './packed-document.ts';
import type { DocumentSource } from './read-documents.ts';

export const begin: BeginTask<ReadOptions, DocumentSource, PackedDocument> = (options) => ({
  work: ({ text, source }) => packDocument(readDocument(text, source, options)),
});
