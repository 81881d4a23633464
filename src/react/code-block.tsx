import type { ReactNode } from 'react';
import { useMemo, useState } from 'react';
import type { JsonValue } from '../base/json.ts';
import { safeLines } from '../base/safe-text.ts';
import { prettyJson } from '../view/pretty-json.ts';

/** Longer than this is cut until somebody asks for the rest. */
const mostCharacters = 4_000;

/** Text as it is, in lines. It can be scrolled by keyboard. */
export function CodeBlock({
  label,
  text,
  isWhole = false,
}: {
  readonly label: string;
  readonly text: string;
  /** Never cut: for what a person decides about. */
  readonly isWhole?: boolean;
}): ReactNode {
  const lines = useMemo(() => safeLines(text).join('\n'), [text]);
  return <Block label={label} text={lines} isWhole={isWhole} />;
}

/** A value as JSON. */
export function JsonBlock({
  label,
  value,
  isWhole = false,
}: {
  readonly label: string;
  readonly value: JsonValue;
  readonly isWhole?: boolean;
}): ReactNode {
  const text = useMemo(() => prettyJson(value), [value]);
  return <Block label={label} text={text} isWhole={isWhole} isJson />;
}

function Block({
  label,
  text,
  isWhole,
  isJson = false,
}: {
  readonly label: string;
  readonly text: string;
  readonly isWhole: boolean;
  readonly isJson?: boolean;
}): ReactNode {
  const [showsAll, setShowsAll] = useState(false);
  const isCut = !isWhole && !showsAll && text.length > mostCharacters;
  // No character is cut in half.
  const shown = isCut ? text.slice(0, mostCharacters).replace(/[\uD800-\uDBFF]$/, '') : text;
  return (
    <>
      {/* What scrolls and cannot have the focus cannot be read without a mouse. */}
      <pre className="qt-code" tabIndex={0} role="group" aria-label={label}>
        {isJson ? colourJson(shown) : shown}
        {isCut && '…'}
      </pre>
      {isCut && (
        <button type="button" className="qt-link" onClick={() => setShowsAll(true)}>
          Show all {text.length.toLocaleString('en')} characters
        </button>
      )}
    </>
  );
}

const tokens = /("(?:\\.|[^"\\])*")(:)?|\b(?:true|false|null)\b|-?\b\d[\d.eE+-]*/g;
const mostColoured = 20_000;

/** Scripts that are read from right to left. */
const rightToLeft = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC]|[\uD802\uD803\uD83A\uD83B]/;

/**
 * Names, texts and the rest in colours of their own; long texts stay plain. Each is an island: words that are read from
 * right to left would otherwise take the colon and the number beside them along, and another amount would be approved
 * than was read.
 */
function colourJson(text: string): ReactNode {
  const isLong = text.length > mostColoured;
  if (isLong && !rightToLeft.test(text)) return text;
  const pieces: ReactNode[] = [];
  let at = 0;
  for (const match of text.matchAll(tokens)) {
    const [token, quoted, colon] = match;
    if (isLong && !rightToLeft.test(token)) continue;
    const kind = colon !== undefined ? 'name' : quoted !== undefined ? 'text' : 'value';
    const shown = quoted ?? token;
    pieces.push(
      text.slice(at, match.index),
      <bdi key={match.index} className={`qt-json-${kind}`}>
        {shown}
      </bdi>,
    );
    at = match.index + shown.length;
  }
  pieces.push(text.slice(at));
  return pieces;
}
