/** Values of a document in words, for messages. */
import { quote } from '../../base/nearest.ts';
import type { DocumentNode } from './document-node.ts';

/** `a, b and c` */
export function listWords(words: readonly string[], before = 'and'): string {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} ${before} ${words.at(-1)}`;
}

/** Describes the value in words, for a message. */
export function describeNode(node: DocumentNode): string {
  switch (node.type) {
    case 'list':
      return node.items.length === 0 ? 'an empty list' : 'a list';
    case 'map':
      return node.entries.length === 0 ? 'an empty object' : 'an object';
    case 'scalar':
      if (node.value === null) return 'empty';
      return typeof node.value === 'string' ? quote(node.value) : `the ${typeof node.value} ${node.value}`;
  }
}

export const isQuotable = (node: DocumentNode): boolean => node.type === 'scalar' && node.value !== null;
