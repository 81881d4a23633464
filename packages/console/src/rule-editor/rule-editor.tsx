/**
 * A text field for rules, with line numbers, colours, marks at the lines of problems, and suggestions. The text itself
 * is a plain `textarea`, so that undo, spelling, screen readers and on-screen keyboards work as everywhere. Behind it
 * lies the same text in colour, character for character.
 */
import type { ReactNode, RefObject } from 'react';
import { memo, useId, useMemo } from 'react';
import './rule-editor.css';
import type { KnownNames } from './completions.ts';
import { paintYaml } from './paint-yaml.ts';
import { SuggestionList, suggestionId } from './suggestion-list.tsx';
import { useSuggestions } from './use-suggestions.ts';

export type LineMark = {
  readonly line: number;
  readonly tone: 'bad' | 'attention';
  readonly message: string;
};

type Props = {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly label: string;
  readonly text: string;
  readonly marks: readonly LineMark[];
  readonly names: KnownNames;
  readonly onChange: (text: string) => void;
};

/** Beyond it, the text is not coloured: every key press would repaint it. */
const mostPaintedLines = 4_000;

export function RuleEditor({ field, label, text, marks, names, onChange }: Props): ReactNode {
  const { open, suggest, accept, close, onKeyDown } = useSuggestions(field, names);
  const [listId, hintId] = [useId(), useId()];
  const lines = useMemo(() => text.split('\n'), [text]);
  return (
    <div className="rule-editor">
      <Gutter count={lines.length} marks={marks} />
      <div className="rule-editor-text">
        <Paint lines={lines} marks={marks} />
        <textarea
          ref={field}
          aria-label={label}
          aria-describedby={hintId}
          aria-autocomplete="list"
          aria-controls={open === undefined ? undefined : listId}
          aria-activedescendant={open === undefined ? undefined : suggestionId(listId, open.chosen)}
          aria-invalid={marks.some(({ tone }) => tone === 'bad')}
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          wrap="off"
          value={text}
          onChange={(event) => {
            onChange(event.target.value);
            suggest(false);
          }}
          onKeyDown={onKeyDown}
          onPointerDown={close}
          onBlur={close}
        />
        {open !== undefined && <SuggestionList id={listId} open={open} onChoose={accept} />}
      </div>
      <p id={hintId} className="hidden">
        Ctrl+Space suggests keys, values and tools.
      </p>
    </div>
  );
}

/** Line numbers. Marked ones say in their title what is wrong. */
function Gutter({
  count,
  marks,
}: {
  readonly count: number;
  readonly marks: readonly LineMark[];
}): ReactNode {
  const byLine = Map.groupBy(marks, ({ line }) => line);
  return (
    <ol className="rule-editor-gutter" aria-hidden="true">
      {Array.from({ length: count }, (_, index) => {
        const found = byLine.get(index + 1);
        const tone = found?.some((mark) => mark.tone === 'bad') === true ? 'bad' : found?.[0]?.tone;
        return (
          <li key={index} data-tone={tone} title={found?.map(({ message }) => message).join('\n')}>
            {index + 1}
          </li>
        );
      })}
    </ol>
  );
}

/** The text in colour. Marked lines have a background. */
const Paint = memo(function PaintedText({
  lines,
  marks,
}: {
  readonly lines: readonly string[];
  readonly marks: readonly LineMark[];
}): ReactNode {
  const tones = new Map(marks.toReversed().map(({ line, tone }) => [line, tone]));
  const isPainted = lines.length <= mostPaintedLines;
  return (
    <pre className="rule-editor-paint" aria-hidden="true">
      {lines.map((line, index) => (
        <span key={index} className="rule-editor-line" data-tone={tones.get(index + 1)}>
          {isPainted
            ? paintYaml(line).map(({ text, as }, at) =>
                as === 'plain' ? (
                  text
                ) : (
                  <span key={at} data-as={as}>
                    {text}
                  </span>
                ),
              )
            : line}
          {'\n'}
        </span>
      ))}
    </pre>
  );
});
