import type { ReactNode } from 'react';
import { useMemo } from 'react';
import type { JsonObject } from 'quittance/internal/base/json';
import { prettyJson } from 'quittance/internal/view/pretty-json';
import { CopyButton } from '../../ui/copy-button.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { schemaFields } from './schema-fields.ts';

type Props = { readonly schema: JsonObject | undefined; readonly known: boolean };

/** The input schema of a tool: its fields, and the JSON Schema. */
export function SchemaCard({ schema, known }: Props): ReactNode {
  const fields = useMemo(() => (schema === undefined ? [] : schemaFields(schema)), [schema]);
  const text = useMemo(() => (schema === undefined ? '' : prettyJson(schema)), [schema]);
  return (
    <section className="card" aria-labelledby="schema">
      <header>
        <h2 id="schema">Input schema</h2>
        {schema !== undefined && <CopyButton text={text} label="Copy schema" />}
      </header>
      {fields.length > 0 && (
        <div className="tool-table" tabIndex={0} role="group" aria-labelledby="schema">
          <table className="card-rows">
            <caption className="hidden">Fields of the arguments</caption>
            <thead>
              <tr>
                <th scope="col">Field</th>
                <th scope="col">Type</th>
                <th scope="col">Required</th>
                <th scope="col">Description</th>
              </tr>
            </thead>
            <tbody>
              {fields.map(({ path, type, required, description }) => (
                <tr key={path}>
                  <th scope="row" className="schema-path">
                    <code>
                      <ForeignText text={path} />
                    </code>
                  </th>
                  <td data-label="Type" className="schema-about">
                    <ForeignText text={type} />
                  </td>
                  <td data-label="Required">{required ? 'yes' : <span className="muted">no</span>}</td>
                  <td data-label="Description" className="schema-about muted">
                    {description !== undefined && <ForeignText text={description} />}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <div className="body">
        {schema === undefined ? (
          <p className="muted">
            {known
              ? 'This tool has no JSON Schema. With one, the runtime checks arguments before the tool runs.'
              : 'This server does not have this tool, so its schema is unknown.'}
          </p>
        ) : (
          <details>
            <summary>JSON Schema</summary>
            <pre className="code" tabIndex={0} role="group" aria-label="JSON Schema">
              {text}
            </pre>
          </details>
        )}
      </div>
    </section>
  );
}
