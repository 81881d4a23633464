import type { ReactNode } from 'react';
import { readPageKey } from '../api/page-key.ts';

type Props = {
  readonly path: string;
  readonly children: ReactNode;
  readonly className?: string;
  readonly label?: string;
};

/** Downloads a path. It is a form, because a link cannot send the page key. The browser streams the file to disk. */
export const DownloadButton = ({ path, children, className, label }: Props): ReactNode => (
  <form
    method="post"
    action="/download"
    onSubmit={({ currentTarget }) => {
      const key = currentTarget.elements.namedItem('page-key');
      if (key instanceof HTMLInputElement) key.value = readPageKey();
    }}
  >
    <input type="hidden" name="path" value={path} />
    <input type="hidden" name="page-key" defaultValue="" />
    <button type="submit" className={className} aria-label={label}>
      {children}
    </button>
  </form>
);
