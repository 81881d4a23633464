import type { ReactNode } from 'react';

type Props = {
  readonly title: ReactNode;
  /** One line about the purpose of the page. */
  readonly about?: ReactNode;
  readonly children?: ReactNode;
};

/** Page heading with its actions. */
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
