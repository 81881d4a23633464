/**
 * Reads contract documents in a thread: a long document takes a second of YAML and patterns, and no call should wait
 * for that.
 */
import { parentPort } from 'node:worker_threads';
import { readDocument } from '../policy/read/parse-document.ts';
import type { ReadOptions } from '../policy/read/read-options.ts';
import type { PackedDocument } from './packed-document.ts';
import { packDocument } from './packed-document.ts';
import type { DocumentSource } from './read-documents.ts';

export type DocumentThreadOrder =
  | { readonly type: 'read'; readonly document: DocumentSource; readonly options: ReadOptions }
  /** The thread ends by itself. */
  | { readonly type: 'end' };

export type DocumentThreadAnswer = PackedDocument;

if (parentPort !== null) {
  const port = parentPort;
  port.on('message', (order: DocumentThreadOrder) => {
    if (order.type === 'end') return port.close();
    const { text, source } = order.document;
    port.postMessage(packDocument(readDocument(text, source, order.options)) satisfies DocumentThreadAnswer);
  });
}
