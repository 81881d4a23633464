import type { ReactNode } from 'react';
import { textPieces } from '../base/safe-text.ts';

/**
 * Text that a tool, a model or a document wrote, on one line: what cannot be seen is drawn as a marked escape, and words
 * that are read from right to left are islands, so that they cannot move the amounts beside them.
 */
export const ShownText = ({ text }: { readonly text: string }): ReactNode => (
  <bdi dir="ltr">
    <Pieces text={text} />
  </bdi>
);

/** The same without an element around it, for places that have one. */
export function Pieces({ text }: { readonly text: string }): ReactNode {
  const pieces = textPieces(text);
  if (pieces.length === 1 && pieces[0]?.kind === 'plain') return text;
  return pieces.map(({ kind, text: shown }, index) =>
    kind === 'plain' ? (
      shown
    ) : kind === 'escape' ? (
      <span key={index} className="qt-mark">
        {shown}
      </span>
    ) : (
      <bdi key={index}>{shown}</bdi>
    ),
  );
}
