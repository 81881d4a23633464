/** The open list of suggestions, and the keys that move in it, accept one or close it. */
import type { KeyboardEvent, RefObject } from 'react';
import { useEffect, useRef, useState } from 'react';
import type { JsonObject } from 'quittance/internal/base/json';
import contractsSchema from '../../../quittance/schema/contracts.schema.json' with { type: 'json' };
import type { Completions, KnownNames, Suggestion } from './completions.ts';
import { completionsAt } from './completions.ts';
import { insertText, newLineAt } from './insert-text.ts';

export type OpenSuggestions = Completions & {
  readonly chosen: number;
  /** Position of the word in the text: the line from 1, the column from 0. */
  readonly line: number;
  readonly column: number;
};

type Suggestions = {
  readonly open: OpenSuggestions | undefined;
  /** Opens the list if there is something to suggest. `isAsked`: the user asked for it by key. */
  readonly suggest: (isAsked: boolean) => void;
  readonly accept: (suggestion: Suggestion) => void;
  readonly close: () => void;
  readonly onKeyDown: (event: KeyboardEvent<HTMLTextAreaElement>) => void;
};

export function useSuggestions(field: RefObject<HTMLTextAreaElement | null>, names: KnownNames): Suggestions {
  const [open, setOpen] = useState<OpenSuggestions | undefined>(undefined);
  const foundNothing = useRef(false);
  const close = (): void => {
    foundNothing.current = false;
    setOpen(undefined);
  };
  const suggest = (isAsked: boolean): void => {
    const found = findSuggestions(field.current, names, isAsked);
    foundNothing.current = found === undefined;
    setOpen(found);
  };
  // The names of tools and arguments may arrive after a word was typed.
  useEffect(() => {
    if (foundNothing.current) suggest(false);
  }, [names]);
  const accept = ({ insert }: Suggestion): void => {
    const { current } = field;
    if (current === null || open === undefined) return;
    close();
    // After a key, the suggestions for its value open.
    insertText(current, insert, open.from, current.selectionStart);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    if (event.nativeEvent.isComposing) return;
    const { key, ctrlKey, shiftKey, metaKey, altKey } = event;
    const chosen = open?.suggestions[open.chosen];
    if (key === ' ' && ctrlKey) {
      event.preventDefault();
      suggest(true);
    } else if (open !== undefined && (key === 'ArrowDown' || key === 'ArrowUp')) {
      event.preventDefault();
      const { length } = open.suggestions;
      setOpen({ ...open, chosen: (open.chosen + (key === 'ArrowDown' ? 1 : -1) + length) % length });
    } else if (chosen !== undefined && (key === 'Enter' || key === 'Tab') && !shiftKey) {
      event.preventDefault();
      accept(chosen);
    } else if (open !== undefined && key === 'Escape') {
      event.preventDefault();
      event.stopPropagation();
      close();
    } else if (key === 'Enter' && !ctrlKey && !metaKey && !altKey) {
      event.preventDefault();
      const { value, selectionStart, selectionEnd } = event.currentTarget;
      insertText(event.currentTarget, newLineAt(value, selectionStart), selectionStart, selectionEnd);
    } else if (['ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(key)) close();
  };
  return { open, suggest, accept, close, onKeyDown };
}

function findSuggestions(
  field: HTMLTextAreaElement | null,
  names: KnownNames,
  isAsked: boolean,
): OpenSuggestions | undefined {
  if (field === null || field.selectionStart !== field.selectionEnd) return undefined;
  const { value, selectionStart: offset } = field;
  // Each key of a JSON file has its own type, which no general type contains.
  const found = completionsAt(value, offset, contractsSchema as unknown as JsonObject, names);
  if (found === undefined) return undefined;
  // Unasked, the list opens only when a word begins: after every key press it would be in the way.
  if (!isAsked && found.from === offset && !value.slice(0, offset).endsWith(': ')) return undefined;
  const before = value.slice(0, found.from).split('\n');
  return { ...found, chosen: 0, line: before.length, column: before.at(-1)?.length ?? 0 };
}
