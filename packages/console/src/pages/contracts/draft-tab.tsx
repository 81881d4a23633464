import type { ReactNode } from 'react';
import { useEffect, useRef, useState } from 'react';
import { safeWords } from 'quittance/internal/base/safe-id';
import { RuleEditor } from '../../rule-editor/rule-editor.tsx';
import { useRoute } from '../../route.ts';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { Backtest } from './backtest.tsx';
import { CheckList } from './check-list.tsx';
import { CheckState } from './check-state.tsx';
import { DraftChanges } from './draft-changes.tsx';
import { marksOf } from './marks-of.ts';
import { offsetOf } from './offset-of.ts';
import { toolAtLine } from './tool-at-line.ts';
import { useCheck } from './use-check.ts';
import type { Draft } from './use-draft.ts';
import { useKnownNames } from './use-known-names.ts';

/** An editor for draft rules, checked while typing and tested on past calls. A draft never takes effect. */
export function DraftTab({ draft }: { readonly draft: Draft }): ReactNode {
  const { documents, begun, isChanged, write, reset } = draft;
  const { query } = useRoute();
  const [chosen, setChosen] = useState(query.get('document') ?? documents[0]?.name);
  const current = documents.find(({ name }) => name === chosen) ?? documents[0];
  const checked = useCheck(documents);
  const editor = useRef<HTMLTextAreaElement>(null);
  const [line, setLine] = useState(1);
  const names = useKnownNames(toolAtLine(current?.text ?? '', line));
  const go = (source: string, to: number, column: number | undefined): void => {
    const wanted = documents.find(({ name }) => name === source) ?? current;
    if (wanted === undefined) return;
    setChosen(wanted.name);
    // The other text may not be rendered before the next frame.
    requestAnimationFrame(() => editor.current !== null && showLine(editor.current, wanted.text, to, column));
  };
  const asked = query.get('line');
  useEffect(() => {
    const to = Number(asked ?? Number.NaN);
    if (Number.isInteger(to) && current !== undefined) go(current.name, to, undefined);
    // Only when the page opens: afterwards the user moves about.
  }, []);
  return (
    <div className="draft">
      <section className="card" aria-labelledby="draft-title">
        <header>
          <h2 id="draft-title">Draft</h2>
          <div className="actions">
            {documents.length > 1 && (
              <select
                aria-label="Document"
                value={current?.name}
                onChange={(event) => setChosen(event.target.value)}
              >
                {documents.map(({ name }) => (
                  <option key={name} value={name}>
                    <ForeignText text={name} />
                  </option>
                ))}
              </select>
            )}
            <button type="button" onClick={reset} disabled={!isChanged}>
              Discard changes
            </button>
          </div>
        </header>
        <div className="body draft-body">
          <div
            className="draft-editor"
            onKeyUp={() => setLine(lineOf(editor.current))}
            onClick={() => setLine(lineOf(editor.current))}
          >
            <RuleEditor
              field={editor}
              label={`Rules in ${safeWords(current?.name ?? 'the draft')}`}
              text={current?.text ?? ''}
              marks={current === undefined ? [] : marksOf(checked.check, current.name)}
              names={names}
              onChange={(text) => current !== undefined && write(current.name, text)}
            />
          </div>
          <CheckState checked={checked} />
          {checked.check !== undefined && <CheckList check={checked.check} onGo={go} />}
          {isChanged && <DraftChanges before={begun} after={documents} />}
          <p className="muted">
            A draft is private and changes nothing. To put rules in force, save them in the files that the
            server loads with <code>--contracts</code>.
          </p>
        </div>
      </section>
      <Backtest documents={documents} check={checked.check} />
    </div>
  );
}

const lineOf = (field: HTMLTextAreaElement | null): number =>
  field === null ? 1 : field.value.slice(0, field.selectionStart).split('\n').length;

/** Puts the cursor on a line and scrolls it into view, with some lines before it. */
function showLine(field: HTMLTextAreaElement, text: string, line: number, column: number | undefined): void {
  const at = offsetOf(text, line, column);
  field.focus({ preventScroll: true });
  field.setSelectionRange(at, at);
  const height = Number.parseFloat(getComputedStyle(field).lineHeight);
  const frame = field.closest('.rule-editor');
  if (frame !== null && Number.isFinite(height)) frame.scrollTop = Math.max(0, (line - 5) * height);
}
