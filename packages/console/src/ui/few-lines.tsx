import type { ReactNode } from 'react';
import { safeWords } from 'quittance/internal/base/safe-id';
import { ForeignText } from './foreign-text.tsx';

/** The first lines of a text in a table cell. Hovering shows all of it. Nothing for no text: a card leaves the line out. */
export const FewLines = ({ text }: { readonly text: string }): ReactNode =>
  text === '' ? null : (
    <bdi className="few-lines" title={safeWords(text)}>
      <ForeignText text={text} />
    </bdi>
  );
