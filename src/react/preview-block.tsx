import type { ReactNode } from 'react';
import type { JsonValue } from '../base/json.ts';
import { ExactText } from './shown-text.tsx';
import { readCut } from '../tool/cut-for-display.ts';
import { prettyJson } from '../view/pretty-json.ts';
import type { ShownPreview } from '../view/tool-call-view.ts';
import { CodeBlock, Lines } from './code-block.tsx';
import { DiffBlock } from './diff-block.tsx';

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
