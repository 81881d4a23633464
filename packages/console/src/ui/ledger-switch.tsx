import type { ReactNode } from 'react';
import { useRef } from 'react';
import { useMe } from '../api/use-me.ts';
import { Icon } from './icon.tsx';

/** The name of this ledger, and links to the consoles of others. Each has its own address and login. */
export function LedgerSwitch(): ReactNode {
  const { name, color, others } = useMe().console;
  const menu = useRef<HTMLDetailsElement>(null);
  const shown = <LedgerName name={name ?? 'unnamed ledger'} color={color} />;
  if (others.length === 0) return name === undefined ? null : <p className="ledger-switch">{shown}</p>;
  return (
    <details
      ref={menu}
      className="ledger-switch"
      onKeyDown={(event) => {
        if (event.key === 'Escape' && menu.current !== null) menu.current.open = false;
      }}
    >
      <summary aria-label={`Ledger ${name ?? 'without a name'}. Switch to another`}>
        {shown}
        <Icon name="down" />
      </summary>
      <ul aria-label="Other ledgers">
        {others.map((other) => (
          <li key={other.url}>
            <a href={other.url} rel="noreferrer">
              <LedgerName name={other.name} color={other.color} />
              <small>{new URL(other.url).host}</small>
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}

export const LedgerName = ({ name, color }: { readonly name: string; readonly color: string }): ReactNode => (
  <span className="ledger-name" data-ledger-color={color}>
    {name}
  </span>
);
