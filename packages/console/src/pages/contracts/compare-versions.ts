/** Differences between two versions of the contracts, by document. */
import type { ContractsVersion } from '@quittance/server/internal/http/api/contract';

type Documents = ContractsVersion['documents'];

export type DocumentChange =
  | { readonly name: string; readonly how: 'text'; readonly before: string; readonly after: string }
  /** The document differs, but one of the texts is not known. */
  | { readonly name: string; readonly how: 'unknown' };

/** In the order of the newer version; removed documents come last. */
export function compareVersions(before: Documents, after: Documents): readonly DocumentChange[] {
  const names = new Set([...after, ...before].map(({ name }) => name));
  return [...names].flatMap((name): readonly DocumentChange[] => {
    const [old, now] = [before, after].map((documents) => documents.find((each) => each.name === name));
    if (old?.stamp === now?.stamp) return [];
    // A missing document counts as empty; a document without text does not.
    const [from, to] = [old, now].map((each) => (each === undefined ? '' : each.text));
    return from === undefined || to === undefined
      ? [{ name, how: 'unknown' }]
      : [{ name, how: 'text', before: from, after: to }];
  });
}
