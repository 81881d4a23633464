/** Rules that the user is drafting. The tab stores them, so that visiting other pages does not lose them. */
import { useCallback, useState } from 'react';
import type { ContractsInForce, TypedDocuments } from '@quittance/server/internal/http/api/contract';
import { firstRules } from './first-rules.ts';

export type Documents = TypedDocuments['documents'];

export type Draft = {
  readonly documents: Documents;
  /** The rules in force that it is compared with. */
  readonly begun: Documents;
  /** Does it differ from the rules it started from? */
  readonly isChanged: boolean;
  readonly write: (name: string, text: string) => void;
  /** Starts again from the rules in force. */
  readonly reset: () => void;
};

const storeName = 'quittance.draft';

export function useDraft(inForce: ContractsInForce): Draft {
  const [typed, setTyped] = useState<Documents | undefined>(() =>
    readDraft(window.sessionStorage.getItem(storeName)),
  );
  const begun = documentsOf(inForce);
  const documents = typed ?? begun;
  const write = useCallback(
    (name: string, text: string) => {
      const next = documents.map((each) => (each.name === name ? { name, text } : each));
      setTyped(next);
      keep(JSON.stringify(next));
    },
    [documents],
  );
  const reset = useCallback(() => {
    setTyped(undefined);
    keep(undefined);
  }, []);
  return { documents, begun, isChanged: typed !== undefined && !isSame(typed, begun), write, reset };
}

/** Ignores storage errors: the editor works without storage. */
function keep(text: string | undefined): void {
  try {
    if (text === undefined) window.sessionStorage.removeItem(storeName);
    else window.sessionStorage.setItem(storeName, text);
  } catch {
    // The draft then lasts as long as the page.
  }
}

/** Documents with a known text, or sample rules if there are none. */
export function documentsOf({ documents }: Pick<ContractsInForce, 'documents'>): Documents {
  const typed = documents.flatMap(({ name, text }) => (text === undefined ? [] : [{ name, text }]));
  return typed.length === 0 ? [{ name: 'draft.yaml', text: firstRules }] : typed;
}

export function readDraft(text: string | null): Documents | undefined {
  if (text === null) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.length > 0 && value.every(isDocument) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isDocument = (value: unknown): value is Documents[number] =>
  typeof value === 'object' &&
  value !== null &&
  'name' in value &&
  typeof value.name === 'string' &&
  'text' in value &&
  typeof value.text === 'string';

const isSame = (one: Documents, other: Documents): boolean => JSON.stringify(one) === JSON.stringify(other);
