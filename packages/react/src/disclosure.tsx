import type { ReactNode } from 'react';

/** A section that the reader can open. */
export function Disclosure({
  title,
  isOpen = false,
  children,
}: {
  readonly title: ReactNode;
  readonly isOpen?: boolean;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <details className="qt-disclosure" open={isOpen}>
      <summary>{title}</summary>
      <div className="qt-inside">{children}</div>
    </details>
  );
}
