import type { ReactNode } from 'react';
import '../styles/banner.css';
import type { Tone } from './outcome-badge.tsx';

type Props = { readonly tone: Tone; readonly title: string; readonly children?: ReactNode };

/** The result of an action. */
export function Banner({ tone, title, children }: Props): ReactNode {
  return (
    <div className="banner" data-tone={tone} role="status">
      <strong>{title}</strong>
      {children}
    </div>
  );
}
