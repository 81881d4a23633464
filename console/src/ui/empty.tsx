import type { ReactNode } from 'react';
import { CopyButton } from './copy-button.tsx';

type Props = {
  readonly title: string;
  readonly children: ReactNode;
  /** What to type or paste to have something here. */
  readonly snippet?: string;
};

/** Nothing to show yet: says why, and what to do about it. */
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
          <CopyButton text={snippet} label="Copy the snippet" />
        </div>
      )}
    </div>
  );
}
