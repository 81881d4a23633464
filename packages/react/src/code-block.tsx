import type { ReactNode } from 'react';
import { Fragment, memo, useMemo, useState } from 'react';
import type { JsonValue } from 'quittance/internal/base/json';
import { textPieces } from 'quittance/internal/base/safe-text';
import type { JsonLine } from 'quittance/internal/view/json-lines';
import { jsonLines } from 'quittance/internal/view/json-lines';
import { deepestIndent } from 'quittance/internal/view/pretty-json';
import { Pieces } from './shown-text.tsx';

/** Longer text is cut until the reader asks for the rest. */
const mostCharacters = 4_000;
/** The subject of a decision is never cut, but drawn in steps: thousands of lines at once would freeze the page. */
const linesAtOnce = 2_000;
const linesPerPart = 100;

/** Text as it is, line by line. Scrollable by keyboard. */
export function CodeBlock({
  label,
  text,
  isWhole = false,
}: {
  readonly label: string;
  readonly text: string;
  /** Never cut: for the subject of a decision. */
  readonly isWhole?: boolean;
}): ReactNode {
  const [showsAll, setShowsAll] = useState(false);
  const isCut = !isWhole && !showsAll && text.length > mostCharacters;
  const shown = isCut ? cutText(text, mostCharacters) : text;
  return (
    <>
      {/* A scrolling element without focus cannot be read by keyboard. */}
      <pre
        className="qt-code"
        dir="ltr"
        tabIndex={0}
        role="group"
        aria-label={label}
        data-qt-lines={text.split('\n').length}
      >
        <Lines text={shown} longestRun={15} />
        {isCut && '…'}
      </pre>
      {isCut && <ShowAll characters={text.length} onClick={() => setShowsAll(true)} />}
    </>
  );
}

/** A value as JSON. Every name and string has its own box, so a string cannot pose as lines of JSON. */
export function JsonBlock({
  label,
  value,
  isWhole = false,
}: {
  readonly label: string;
  readonly value: JsonValue;
  readonly isWhole?: boolean;
}): ReactNode {
  const all = useMemo(() => jsonLines(value), [value]);
  const [showsAll, setShowsAll] = useState(false);
  const [most, setMost] = useState(linesAtOnce);
  const start = useMemo(() => (isWhole || showsAll ? undefined : cutLines(all)), [all, isWhole, showsAll]);
  const lines = start?.lines ?? all.slice(0, most);
  const left = start === undefined ? all.length - lines.length : 0;
  return (
    <>
      <pre
        className="qt-code"
        dir="ltr"
        tabIndex={0}
        role="group"
        aria-label={label}
        data-qt-lines={all.length}
        data-qt-unfinished={left > 0}
      >
        {Array.from({ length: Math.ceil(lines.length / linesPerPart) }, (_, part) => (
          <Part
            key={part}
            lines={lines}
            from={part * linesPerPart}
            to={Math.min(lines.length, (part + 1) * linesPerPart)}
            last={all.length - 1}
          />
        ))}
        {start !== undefined && '…'}
      </pre>
      {start !== undefined && <ShowAll characters={start.characters} onClick={() => setShowsAll(true)} />}
      {left > 0 && (
        <button type="button" className="qt-link" onClick={() => setMost(most + linesAtOnce)}>
          Show the next {Math.min(left, linesAtOnce).toLocaleString('en')} of {left.toLocaleString('en')} more
          lines
        </button>
      )}
    </>
  );
}

const ShowAll = ({
  characters,
  onClick,
}: {
  readonly characters: number;
  readonly onClick: () => void;
}): ReactNode => (
  <button type="button" className="qt-link" onClick={onClick}>
    Show all {characters.toLocaleString('en')} characters
  </button>
);

/** Never splits a surrogate pair. */
const cutText = (text: string, most: number): string => text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '');

/** The first lines, up to the character limit; undefined if all lines fit. */
function cutLines(
  all: readonly JsonLine[],
): { readonly lines: readonly JsonLine[]; readonly characters: number } | undefined {
  const sizeOf = ({ depth, name = '', value }: JsonLine): number =>
    2 * depth + name.length + value.text.length + 4;
  const characters = all.reduce((sum, line) => sum + sizeOf(line), 0);
  if (characters <= mostCharacters) return undefined;
  const lines: JsonLine[] = [];
  let left = mostCharacters;
  for (const line of all) {
    const { value } = line;
    lines.push(
      value.kind === 'text' && value.text.length > left
        ? { ...line, value: { kind: 'text', text: cutText(value.text, left) } }
        : line,
    );
    left -= sizeOf(line);
    if (left <= 0) break;
  }
  return { lines, characters };
}

/** Lines that the browser lays out together, once they scroll into view. */
const Part = memo(
  function Part({
    lines,
    from,
    to,
    last,
  }: {
    readonly lines: readonly JsonLine[];
    readonly from: number;
    readonly to: number;
    readonly last: number;
  }): ReactNode {
    const shown = lines
      .slice(from, to)
      .map((line, index) => <Line key={index} line={line} isLast={from + index === last} />);
    return from === 0 && to === lines.length && to < linesPerPart ? (
      shown
    ) : (
      <span className="qt-lines">{shown}</span>
    );
  },
  (one, other) =>
    one.to === other.to &&
    one.last === other.last &&
    one.lines[one.from] === other.lines[other.from] &&
    one.lines[one.to - 1] === other.lines[other.to - 1],
);

const Line = memo(function Line({
  line: { depth, name, note, value, hasComma },
  isLast,
}: {
  readonly line: JsonLine;
  readonly isLast: boolean;
}): ReactNode {
  const isBox = value.kind === 'text' && needsBox(value.text);
  return (
    <>
      {'  '.repeat(Math.min(depth, deepestIndent))}
      {name !== undefined && (
        <>
          <Quoted text={name} kind="name" />
          {': '}
        </>
      )}
      {isBox ? (
        <Box text={value.text} hasComma={hasComma} />
      ) : value.kind === 'text' ? (
        <Quoted text={value.text} kind="text" />
      ) : value.kind === 'plain' ? (
        <span className="qt-json-value">{value.text}</span>
      ) : (
        value.text
      )}
      {hasComma && !isBox && ','}
      {note !== undefined && (
        <strong className="qt-name-note">
          {' '}
          <Pieces text={note} />
        </strong>
      )}
      {/* A box has lines of its own. */}
      {!isLast && (!isBox || note !== undefined) && '\n'}
    </>
  );
});

/** Longer or multi-line strings get a box across the block. */
const longestInline = 60;

const needsBox = (text: string): boolean =>
  JSON.stringify(text).length > longestInline || text.includes('\n');

/** A short string in JSON quotes. */
const Quoted = ({ text, kind }: { readonly text: string; readonly kind: 'name' | 'text' }): ReactNode => (
  <bdi dir="ltr" className={`qt-json-${kind}`}>
    <Lines text={JSON.stringify(text)} longestRun={1} />
  </bdi>
);

/** A long string in JSON quotes. Lines break only at the string's own line breaks. */
function Box({ text, hasComma }: { readonly text: string; readonly hasComma: boolean }): ReactNode {
  // Escapes are read in pairs: the backslash before an n may itself be escaped.
  const broken = JSON.stringify(text).replaceAll(/\\(.)/g, (written, letter: string) =>
    letter === 'n' ? '\\n\n' : written,
  );
  return (
    <bdi dir="ltr" className="qt-json-text qt-json-box">
      <Lines text={broken} longestRun={3} />
      {hasComma && <span className="qt-json-comma">,</span>}
    </bdi>
  );
}

/** Lines of text. Long runs of spaces are replaced by their count, because they push text out of view. */
export function Lines({
  text,
  longestRun,
}: {
  readonly text: string;
  readonly longestRun: number;
}): ReactNode {
  const pieces = useMemo(() => {
    const runs = new RegExp(`(?<=\\S) {${longestRun + 1},}| {61,}`, 'g');
    const flat = text.replaceAll(/\r?\n/g, '').replaceAll('\t', '  ');
    const shown = textPieces(flat);
    if (shown.length <= 1 && (shown[0]?.kind ?? 'plain') === 'plain' && flat.search(runs) < 0)
      return undefined;
    return text.split(/\r?\n/).map((line) => {
      const parts: { readonly text: string; readonly spaces: number }[] = [];
      const spread = line.replaceAll('\t', '  ');
      let at = 0;
      for (const match of spread.matchAll(runs)) {
        parts.push({ text: spread.slice(at, match.index), spaces: match[0].length });
        at = match.index + match[0].length;
      }
      parts.push({ text: spread.slice(at), spaces: 0 });
      return parts;
    });
  }, [text, longestRun]);
  if (pieces === undefined) return text.replaceAll('\t', '  ');
  return pieces.map((parts, index) => (
    <Fragment key={index}>
      {index > 0 && '\n'}
      {parts.map(({ text: part, spaces }, at) => (
        <Fragment key={at}>
          <Pieces text={part} />
          {spaces > 0 && <span className="qt-mark">{`[${spaces} spaces]`}</span>}
        </Fragment>
      ))}
    </Fragment>
  ));
}
