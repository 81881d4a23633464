import type { ReactNode } from 'react';
import { safeSentence, shownId } from 'quittance/internal/base/safe-id';
import { textPieces } from 'quittance/internal/base/safe-text';

/**
 * Text from a tool, a model or a document, on one line. Invisible characters become visible escapes. Right-to-left
 * words are isolated, so they cannot reorder nearby amounts. An id that looks like a secret is masked.
 */
export const ShownText = ({ text }: { readonly text: string }): ReactNode => (
  <bdi dir="ltr">
    <Pieces text={safeSentence(text)} />
  </bdi>
);

/** Part of the subject of an approval: shown exactly as stored. The redactor has already hidden its secrets. */
export const ExactText = ({ text }: { readonly text: string }): ReactNode => (
  <bdi dir="ltr">
    <Pieces text={text} />
  </bdi>
);

/** Id of a call, session or turn, or name of a tool. Masked if it looks like a secret. */
export const ShownId = ({ id }: { readonly id: string }): ReactNode => (
  <bdi dir="ltr">
    <Pieces text={shownId(id)} />
  </bdi>
);

/** The same without a wrapping element. */
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
