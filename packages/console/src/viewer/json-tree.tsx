/** JSON that opens and closes level by level. Closed levels are not in the page, so a large value stays fast. */
import type { ReactNode } from 'react';
import { useState } from 'react';
import type { JsonValue } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';
import { escapeJson } from 'quittance/internal/base/safe-text';
import { ForeignText } from '../ui/foreign-text.tsx';

const atOnce = 100;

export function JsonTree({ value }: { readonly value: JsonValue }): ReactNode {
  return (
    <ul className="json-tree">
      <Node name={undefined} value={value} depth={0} />
    </ul>
  );
}

function Node({
  name,
  value,
  depth,
}: {
  readonly name: string | undefined;
  readonly value: JsonValue;
  readonly depth: number;
}): ReactNode {
  const entries = entriesOf(value);
  // The first two levels are open, unless there is much in them.
  const [isOpen, setOpen] = useState(depth < 2 && (entries?.length ?? 0) <= atOnce);
  const [shown, setShown] = useState(atOnce);
  const label = name !== undefined && (
    <span className="json-name">
      <ForeignText text={name} />:{' '}
    </span>
  );
  if (entries === undefined)
    return (
      <li>
        {label}
        <span className="json-leaf" data-kind={typeof value}>
          <ForeignText text={escapeJson(JSON.stringify(value))} />
        </span>
      </li>
    );
  return (
    <li>
      <button type="button" className="json-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {label}
        <span className="muted">{Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`}</span>
      </button>
      {isOpen && entries.length > 0 && (
        <ul>
          {entries.slice(0, shown).map(([key, member]) => (
            <Node key={key} name={key} value={member} depth={depth + 1} />
          ))}
          {entries.length > shown && (
            <li>
              <button type="button" className="link" onClick={() => setShown(shown + atOnce * 5)}>
                Show more ({(entries.length - shown).toLocaleString()})
              </button>
            </li>
          )}
        </ul>
      )}
    </li>
  );
}

function entriesOf(value: JsonValue): readonly (readonly [string, JsonValue])[] | undefined {
  if (Array.isArray(value)) return value.map((item: JsonValue, index) => [String(index), item]);
  return isJsonObject(value) ? Object.entries(value) : undefined;
}
