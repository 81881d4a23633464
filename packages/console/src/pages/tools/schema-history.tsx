import type { ReactNode } from 'react';
import type { SchemaVersion } from '@quittance/server/internal/http/api/tool';
import { prettyJson } from 'quittance/internal/view/pretty-json';
import { ForeignText } from '../../ui/foreign-text.tsx';
import type { Tone } from '../../ui/outcome-badge.tsx';
import { digestLabel } from '../../ui/digest-label.ts';
import { TextDiff } from '../../ui/text-diff.tsx';
import { formatTime } from '../../ui/time.tsx';

type Props = { readonly toolName: string; readonly versions: readonly SchemaVersion[] };
type How = SchemaVersion['changes'][number]['how'];

const tones: { readonly [Each in How]: Tone } = { added: 'good', removed: 'bad', changed: 'attention' };

/** History of a tool's schema. An agent that learned an older schema makes wrong calls. */
export function SchemaHistory({ toolName, versions }: Props): ReactNode {
  return (
    <section className="card" aria-labelledby="schema-history">
      <header>
        <h2 id="schema-history">Schema history</h2>
        <span className="muted">{versions.length} versions</span>
      </header>
      <div className="body">
        {versions.map(({ digest, firstSeenAt, schema, changes }, index) => {
          const before = versions[index + 1];
          return (
            <article key={digest + String(firstSeenAt)} className="schema-version">
              <header>
                <h3>
                  <time dateTime={new Date(firstSeenAt).toISOString()}>{formatTime(firstSeenAt)}</time>
                </h3>
                <code className="muted" title={digest}>
                  {digestLabel(digest)}
                </code>
                {index === 0 && <span className="chip">current</span>}
              </header>
              {before === undefined ? (
                <p className="muted">First recorded version.</p>
              ) : (
                <>
                  <ul className="schema-changes">
                    {changes.map(({ path, how }) => (
                      <li key={path + how}>
                        <span className="badge" data-tone={tones[how]}>
                          {how}
                        </span>
                        <code>
                          <ForeignText text={path} />
                        </code>
                      </li>
                    ))}
                  </ul>
                  <details>
                    <summary>Show diff</summary>
                    <TextDiff name={toolName} before={prettyJson(before.schema)} after={prettyJson(schema)} />
                  </details>
                </>
              )}
            </article>
          );
        })}
      </div>
    </section>
  );
}
