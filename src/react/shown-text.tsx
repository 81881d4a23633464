import type { ReactNode } from 'react';
import { safeSentence, shownId } from '../base/safe-id.ts';
import { textPieces } from '../base/safe-text.ts';

/**
 * Text that a tool, a model or a document wrote, on one line: what cannot be seen is drawn as a marked escape, and words
 * that are read from right to left are islands, so that they cannot move the amounts beside them. A sentence may name an
 * id that looks like a secret: that part is masked.
 */
export const ShownText = ({ text }: { readonly text: string }): ReactNode => (
  <bdi dir="ltr">
    <Pieces text={safeSentence(text)} />
  </bdi>
);

/** A part of what is approved: drawn as the ledger keeps it. The redactor has hidden what is to be hidden. */
export const ExactText = ({ text }: { readonly text: string }): ReactNode => (
  <bdi dir="ltr">
    <Pieces text={text} />
  </bdi>
);

/** The id of a call, a session or a turn, or the name of a tool: masked where it looks like a secret. */
export const ShownId = ({ id }: { readonly id: string }): ReactNode => (
  <bdi dir="ltr">
    <Pieces text={shownId(id)} />
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
