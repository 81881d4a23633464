import type { ReactNode } from 'react';

type Props = {
  readonly title: ReactNode;
  /** One line about what the page is for. */
  readonly about?: ReactNode;
  readonly children?: ReactNode;
};

/** The heading of a page with what can be done on it. */
export function PageHead({ title, about, children }: Props): ReactNode {
  return (
    <header className="page-head">
      <div>
        <h1>{title}</h1>
        {about !== undefined && <p className="muted">{about}</p>}
      </div>
      <div className="actions">{children}</div>
    </header>
  );
}
