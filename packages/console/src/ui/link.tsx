import type { AnchorHTMLAttributes, MouseEvent, ReactNode } from 'react';
import { goTo } from '../route.ts';

type Props = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> & {
  readonly to: string;
  readonly children: ReactNode;
};

/** A real link, so it can be opened in a new tab. A plain click navigates within the page. */
export function Link({ to, children, onClick, ...rest }: Props): ReactNode {
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    goTo(to);
  };
  return (
    <a href={to} onClick={follow} {...rest}>
      {children}
    </a>
  );
}
