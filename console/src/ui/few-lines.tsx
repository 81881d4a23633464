import type { ReactNode } from 'react';
import { safeWords } from '../../../src/base/safe-id.ts';
import { ForeignText } from './foreign-text.tsx';

/** What somebody said, in a cell: the first lines of it, all of it on hover and on the page of the call. */
export const FewLines = ({ text }: { readonly text: string }): ReactNode => (
  <bdi className="few-lines" title={safeWords(text)}>
    <ForeignText text={text} />
  </bdi>
);
