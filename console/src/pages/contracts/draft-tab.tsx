import type { ReactNode } from 'react';
import { useRef, useState } from 'react';
import { safeWords } from '../../../../src/base/safe-id.ts';
import { Problem } from '../../ui/problem.tsx';
import { digestLabel } from '../../ui/digest-label.ts';
import { Backtest } from './backtest.tsx';
import { CheckList } from './check-list.tsx';
import { offsetOf } from './offset-of.ts';
import type { Checked } from './use-check.ts';
import { useCheck } from './use-check.ts';
import type { Draft } from './use-draft.ts';
import { ForeignText } from '../../ui/foreign-text.tsx';

/** An editor for draft rules, checked while typing and tested on past calls. A draft never takes effect. */
export function DraftTab({ draft }: { readonly draft: Draft }): ReactNode {
  const { documents, isChanged, write, reset } = draft;
  const [chosen, setChosen] = useState(documents[0]?.name);
  const current = documents.find(({ name }) => name === chosen) ?? documents[0];
  const checked = useCheck(documents);
  const editor = useRef<HTMLTextAreaElement>(null);
  const go = (source: string, line: number, column: number | undefined): void => {
    const wanted = documents.find(({ name }) => name === source) ?? current;
    if (wanted === undefined) return;
    setChosen(wanted.name);
    // The other text may not be rendered before the next frame.
    requestAnimationFrame(() => {
      const field = editor.current;
      if (field === null) return;
      const at = offsetOf(wanted.text, line, column);
      field.focus();
      field.setSelectionRange(at, at);
      const height = Number.parseFloat(getComputedStyle(field).lineHeight);
      if (Number.isFinite(height)) field.scrollTop = Math.max(0, (line - 5) * height);
    });
  };
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
          <textarea
            ref={editor}
            className="editor"
            aria-label={`Rules in ${safeWords(current?.name ?? 'the draft')}`}
            spellCheck={false}
            wrap="off"
            value={current?.text ?? ''}
            onChange={(event) => current !== undefined && write(current.name, event.target.value)}
          />
          <CheckState checked={checked} />
          {checked.check !== undefined && <CheckList check={checked.check} onGo={go} />}
          <p className="muted">
            A draft is private and changes nothing. To put rules in force, save them in the files that the
            server loads with <code>--contracts</code>.
          </p>
        </div>
      </section>
      <Backtest documents={documents} isValid={checked.check?.ok === true} />
    </div>
  );
}

function CheckState({ checked: { check, error } }: { readonly checked: Checked }): ReactNode {
  if (error !== undefined) return <Problem error={error} />;
  return (
    <p className="check-state" role="status">
      {check === undefined ? (
        <span className="muted">Checking…</span>
      ) : check.ok ? (
        <>
          <span className="badge" data-tone="good">
            valid
          </span>{' '}
          {check.policyVersion !== undefined && (
            <code className="muted" title={check.policyVersion}>
              {digestLabel(check.policyVersion)}
            </code>
          )}
        </>
      ) : (
        <span className="badge" data-tone="bad">
          {check.problems.length} {check.problems.length === 1 ? 'problem' : 'problems'}
        </span>
      )}
    </p>
  );
}
