import type { ReactNode } from 'react';
import { useEffect, useMemo, useRef } from 'react';
import { safeWords } from '../../../../src/base/safe-id.ts';
import { safeLines } from '../../../../src/base/safe-text.ts';
import type { ContractsInForce } from '../../../../src/http/api/contract.ts';
import { addressOf, goTo, useRoute } from '../../route.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { digestLabel } from '../../ui/digest-label.ts';

/** The source of the documents in force. */
export function DocumentsTab({ inForce: { documents } }: { readonly inForce: ContractsInForce }): ReactNode {
  const { query } = useRoute();
  const wanted = query.get('document');
  const document = documents.find(({ name }) => name === wanted) ?? documents[0];
  const line = Number(query.get('line') ?? Number.NaN);
  if (document === undefined)
    return (
      <Empty title="No documents in force">
        Start the server with <code>quittance serve --contracts contracts.yaml</code>.
      </Empty>
    );
  return (
    <section className="card" aria-labelledby="document">
      <header>
        <h2 id="document">
          {documents.length > 1 ? (
            <select
              aria-label="Document"
              value={document.name}
              onChange={(event) =>
                goTo(addressOf(['contracts', 'documents'], { document: event.target.value }))
              }
            >
              {documents.map(({ name }) => (
                <option key={name} value={name}>
                  <ForeignText text={name} />
                </option>
              ))}
            </select>
          ) : (
            <ForeignText text={document.name} />
          )}
        </h2>
        <span className="document-stamp">
          <code className="muted" title={document.stamp}>
            {digestLabel(document.stamp)}
          </code>
          {document.text !== undefined && <CopyButton text={document.text} label="Copy document" />}
        </span>
      </header>
      {document.text === undefined ? (
        <p className="body muted">No source available: this document was not loaded as text.</p>
      ) : (
        <Source
          name={document.name}
          text={document.text}
          marked={document.name === wanted || wanted === null ? line : Number.NaN}
        />
      )}
    </section>
  );
}

type SourceProps = { readonly name: string; readonly text: string; readonly marked: number };

function Source({ name, text, marked }: SourceProps): ReactNode {
  const lines = useMemo(() => safeLines(text.replace(/\n$/, '')), [text]);
  const mark = useRef<HTMLElement>(null);
  useEffect(() => {
    mark.current?.scrollIntoView({ block: 'center' });
  }, [marked, name]);
  return (
    <pre className="rule-source" tabIndex={0} role="group" aria-label={`Source of ${safeWords(name)}`}>
      {lines.map((line, index) =>
        index + 1 === marked ? (
          <mark key={index} ref={mark} className="rule-source-line" data-line={index + 1}>
            {line || ' '}
          </mark>
        ) : (
          <span key={index} className="rule-source-line" data-line={index + 1}>
            {line || ' '}
          </span>
        ),
      )}
    </pre>
  );
}
