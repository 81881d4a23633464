import type { ReactNode } from 'react';
import { CopyButton } from './copy-button.tsx';

type Props = {
  readonly title: string;
  readonly children: ReactNode;
  /** Code or command that fills this page. */
  readonly snippet?: string;
};

/** Empty state: says why there is nothing to show, and what to do about it. */
export function Empty({ title, children, snippet }: Props): ReactNode {
  return (
    <div className="empty">
      <h2>{title}</h2>
      <p>{children}</p>
      {snippet !== undefined && (
        <div className="snippet">
          <pre>
            <code>{snippet}</code>
          </pre>
          <CopyButton text={snippet} label="Copy snippet" />
        </div>
      )}
    </div>
  );
}
