import type { ReactNode } from 'react';

type Props = { readonly title: string; readonly link?: ReactNode; readonly children: ReactNode };

/** A titled part of the page. */
export function Card({ title, link, children }: Props): ReactNode {
  return (
    <section className="card">
      <header>
        <h2>{title}</h2>
        {link}
      </header>
      <div className="body">{children}</div>
    </section>
  );
}
