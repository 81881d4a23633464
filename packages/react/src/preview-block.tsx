import type { ReactNode } from 'react';
import type { JsonValue } from 'quittance/internal/base/json';
import { ExactText } from './shown-text.tsx';
import { readCut } from 'quittance/internal/tool/cut-for-display';
import { prettyJson } from 'quittance/internal/view/pretty-json';
import type { ShownPreview } from 'quittance/internal/view/tool-call-view';
import { CodeBlock, Lines } from './code-block.tsx';
import { useMemo } from 'react';
import { safeText } from 'quittance/internal/base/safe-text';
import type { DiffRow } from 'quittance/internal/view/diff-rows';
import { readDiff } from 'quittance/internal/view/diff-rows';

/** The tool's preview of its effect. */
export function PreviewBlock({
  shown: { preview, ready, revision },
}: {
  readonly shown: ShownPreview;
}): ReactNode {
  const cut = readCut(textOf(preview));
  return (
    <>
      {cut !== undefined && (
        <p className="qt-cut">
          The preview is cut: the first {cut.shown.toLocaleString()} of {cut.of.toLocaleString()} characters
          are shown.
        </p>
      )}
      <Shown preview={preview} />
      {!ready && <p className="qt-note">Preview revision {revision}, not final yet.</p>}
    </>
  );
}

/** The part of a preview that may be long. */
function textOf(preview: ShownPreview['preview']): string {
  switch (preview.kind) {
    case 'text':
      return preview.text;
    case 'diff':
      return preview.diff;
    case 'command':
      return preview.command;
    case 'fields':
      return ''; // Each field shows its own cut.
  }
}

function Shown({ preview }: { readonly preview: ShownPreview['preview'] }): ReactNode {
  switch (preview.kind) {
    case 'text':
      return <CodeBlock label="Preview" text={preview.text} isWhole />;
    case 'diff':
      return <DiffBlock path={preview.path} diff={preview.diff} />;
    case 'command':
      return (
        <>
          <CodeBlock label="Command" text={`$ ${preview.command}`} isWhole />
          {preview.directory !== undefined && (
            <p className="qt-note">
              In <ExactText text={preview.directory} />
            </p>
          )}
        </>
      );
    case 'fields':
      return (
        <div
          className="qt-scroll"
          tabIndex={0}
          role="group"
          aria-label="Preview"
          data-qt-lines={preview.fields.length}
        >
          <table className="qt-fields">
            <thead>
              <tr>
                <th scope="col">Field</th>
                <th scope="col">Before</th>
                <th scope="col">After</th>
              </tr>
            </thead>
            <tbody>
              {preview.fields.map(({ name, before, after }, index) => (
                <tr key={index}>
                  <th scope="row">
                    <ExactText text={name} />
                  </th>
                  <td>{before === undefined ? <Nothing /> : <del>{inline(before)}</del>}</td>
                  <td>{after === undefined ? <Nothing /> : <ins>{inline(after)}</ins>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
  }
}

const inline = (value: JsonValue): ReactNode => (
  <bdi dir="ltr">
    <Lines text={typeof value === 'string' ? value : prettyJson(value)} longestRun={3} />
  </bdi>
);

const Nothing = (): ReactNode => <span className="qt-nothing">nothing</span>;

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
