/** An output as tree, text or table, with a search. */
import type { ReactNode } from 'react';
import { useMemo, useState } from 'react';
import type { JsonValue } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';
import { CopyButton } from '../ui/copy-button.tsx';
import { ForeignText } from '../ui/foreign-text.tsx';
import { ValueBlock } from '../ui/value-block.tsx';
import { prettyJson } from 'quittance/internal/view/pretty-json';
import { findInValue } from './find-in-value.ts';
import { JsonTree } from './json-tree.tsx';
import { tableOf } from './table-of.ts';
import type { ValueTable } from './table-of.ts';
import './viewer.css';

type Way = 'tree' | 'text' | 'table';

export function ValueViewer({
  label,
  value,
  first = 'text',
}: {
  readonly label: string;
  readonly value: JsonValue;
  /** How it is shown first, if it can be. */
  readonly first?: Way;
}): ReactNode {
  const table = useMemo(() => tableOf(value), [value]);
  const isTree = isJsonObject(value) || Array.isArray(value);
  const ways: readonly Way[] = [
    ...(isTree ? (['tree'] as const) : []),
    'text',
    ...(table ? (['table'] as const) : []),
  ];
  const [chosen, setChosen] = useState(first);
  const [asked, setAsked] = useState('');
  const way = ways.includes(chosen) ? chosen : 'text';
  return (
    <div className="viewer">
      <div className="viewer-bar">
        {ways.length > 1 && (
          <div className="viewer-ways" role="group" aria-label={`Show ${label.toLowerCase()} as`}>
            {ways.map((each) => (
              <button key={each} type="button" aria-pressed={way === each} onClick={() => setChosen(each)}>
                {each}
              </button>
            ))}
          </div>
        )}
        <input
          type="search"
          aria-label={`Search in ${label.toLowerCase()}`}
          placeholder="Search"
          value={asked}
          onChange={({ currentTarget }) => setAsked(currentTarget.value)}
        />
        <CopyButton
          text={() => (typeof value === 'string' ? value : prettyJson(value))}
          label={`Copy ${label.toLowerCase()}`}
        />
      </div>
      {asked.trim() === '' ? (
        way === 'tree' ? (
          <JsonTree value={value} />
        ) : way === 'table' && table !== undefined ? (
          <TableView label={label} table={table} />
        ) : (
          <ValueBlock label={label} value={value} />
        )
      ) : (
        <FindingList value={value} asked={asked.trim()} />
      )}
    </div>
  );
}

function FindingList({ value, asked }: { readonly value: JsonValue; readonly asked: string }): ReactNode {
  const { rows, total } = useMemo(() => findInValue(value, asked), [value, asked]);
  return (
    <>
      <p className="muted" role="status">
        {total === 0 ? 'No matches.' : `${total.toLocaleString()} ${total === 1 ? 'match' : 'matches'}`}
        {total > rows.length && `, the first ${rows.length} shown`}
      </p>
      <ul className="viewer-findings">
        {rows.map(({ place, text }) => (
          <li key={place}>
            <code className="muted">
              <ForeignText text={place} />
            </code>{' '}
            <ForeignText text={text} />
          </li>
        ))}
      </ul>
    </>
  );
}

const rowsAtOnce = 100;

function TableView({ label, table }: { readonly label: string; readonly table: ValueTable }): ReactNode {
  const [shown, setShown] = useState(rowsAtOnce);
  return (
    <div className="scroll-x viewer-table" role="group" aria-label={`${label} as a table`} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {table.columns.map((column) => (
              <th key={column} scope="col">
                <ForeignText text={column} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.slice(0, shown).map((row, index) => (
            <tr key={index}>
              {table.columns.map((column) => (
                <td key={column}>
                  <ForeignText text={cellText(Object.hasOwn(row, column) ? row[column] : undefined)} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {table.rows.length > shown && (
        <button type="button" className="link" onClick={() => setShown(shown + rowsAtOnce * 5)}>
          Show more ({(table.rows.length - shown).toLocaleString()})
        </button>
      )}
    </div>
  );
}

const cellText = (value: JsonValue | undefined): string =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
