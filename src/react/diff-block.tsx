import type { ReactNode } from 'react';
import { useMemo } from 'react';
import { safeText } from '../base/safe-text.ts';
import type { DiffRow } from '../view/diff-rows.ts';
import { readDiff } from '../view/diff-rows.ts';
import { Lines } from './code-block.tsx';
import { ExactText } from './shown-text.tsx';

/** A diff line by line, with the changed part of each changed line marked. */
export function DiffBlock({ path, diff }: { readonly path: string; readonly diff: string }): ReactNode {
  const { rows, added, removed } = useMemo(() => readDiff(diff), [diff]);
  const shownPath = safeText(path);
  return (
    <div className="qt-diff">
      <p className="qt-diff-head">
        <span className="qt-path">
          <ExactText text={path} />
        </span>
        <span className="qt-added-count">
          <span aria-hidden="true">+{added}</span>
          <span className="qt-hidden">
            {added} {added === 1 ? 'line' : 'lines'} added,{' '}
          </span>
        </span>
        <span className="qt-removed-count">
          <span aria-hidden="true">−{removed}</span>
          <span className="qt-hidden">{removed} removed</span>
        </span>
      </p>
      <pre
        className="qt-diff-rows"
        dir="ltr"
        tabIndex={0}
        role="group"
        aria-label={`Changes to ${shownPath}`}
        data-qt-lines={rows.length}
      >
        {rows.map((row, index) => (isHeadOf(row, path) ? null : <Row key={index} row={row} />))}
      </pre>
    </div>
  );
}

/** Hides the file header that repeats the path above. A header that names another file is shown. */
const isHeadOf = (row: DiffRow, path: string): boolean =>
  row.kind === 'note' && /^(?:---|\+\+\+) (?:[ab]\/)?/.exec(row.text)?.[0].concat(path) === row.text;

function Row({ row }: { readonly row: DiffRow }): ReactNode {
  switch (row.kind) {
    case 'hunk':
    case 'note':
      return (
        <span className={`qt-row qt-row-${row.kind}`}>
          <Show text={row.text || ' '} />
        </span>
      );
    case 'same':
      return (
        <span className="qt-row" data-before={row.before} data-after={row.after}>
          {'  '}
          <Show text={row.text} />
        </span>
      );
    case 'added':
      return (
        <ins className="qt-row qt-row-added" data-before="" data-after={row.after}>
          + <Changed row={row} />
        </ins>
      );
    case 'removed':
      return (
        <del className="qt-row qt-row-removed" data-before={row.before} data-after="">
          - <Changed row={row} />
        </del>
      );
  }
}

function Changed({
  row,
}: {
  readonly row: DiffRow & { readonly kind: 'added' | 'removed' | 'same' };
}): ReactNode {
  const { text, changed } = row;
  if (changed === undefined) return <Show text={text} />;
  const [from, to] = changed;
  return (
    <>
      <Show text={text.slice(0, from)} />
      {from < to && (
        <mark>
          <Show text={text.slice(from, to)} />
        </mark>
      )}
      <Show text={text.slice(to)} />
    </>
  );
}

/** Counts long runs of spaces, which push text out of view. A diff line has no line breaks of its own. */
const Show = ({ text }: { readonly text: string }): ReactNode => <Lines text={text} longestRun={15} />;
