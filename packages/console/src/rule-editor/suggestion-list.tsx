import type { ReactNode } from 'react';
import { useEffect, useRef } from 'react';
import type { Suggestion } from './completions.ts';
import type { OpenSuggestions } from './use-suggestions.ts';

export const suggestionId = (listId: string, index: number): string => `${listId}-${index}`;

type Props = {
  readonly id: string;
  readonly open: OpenSuggestions;
  readonly onChoose: (suggestion: Suggestion) => void;
};

/** Suggestions below the word. The focus stays in the text field, which names the chosen one. */
export function SuggestionList({ id, open, onChoose }: Props): ReactNode {
  const chosen = useRef<HTMLLIElement>(null);
  useEffect(() => chosen.current?.scrollIntoView({ block: 'nearest' }), [open.chosen]);
  return (
    <ul
      id={id}
      className="rule-editor-suggestions"
      role="listbox"
      aria-label="Suggestions"
      style={{
        insetBlockStart: `calc(${open.line} * var(--line-height))`,
        insetInlineStart: `${open.column}ch`,
      }}
    >
      {open.suggestions.map((suggestion, index) => (
        <li
          key={suggestion.label}
          id={suggestionId(id, index)}
          ref={index === open.chosen ? chosen : null}
          role="option"
          aria-selected={index === open.chosen}
          // The field would lose the focus before the click arrives.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onChoose(suggestion)}
        >
          <span>{suggestion.label}</span>
          {suggestion.detail !== undefined && <small>{suggestion.detail}</small>}
        </li>
      ))}
    </ul>
  );
}
