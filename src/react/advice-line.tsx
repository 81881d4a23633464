import type { ReactNode } from 'react';
import { reasonOf } from '../call/reason.ts';
import type { ToolCallView } from '../view/tool-call-view.ts';
import { ShownText } from './shown-text.tsx';

/** Reason code of an unsuccessful call, and what to do about it. */
export function AdviceLine({ call: { outcome, confirmation } }: { readonly call: ToolCallView }): ReactNode {
  if (outcome === undefined || !('code' in outcome)) return null;
  const { code } = outcome;
  return (
    <p className="qt-advice">
      <code>{code}</code>{' '}
      {code === 'confirmation.answered' && confirmation?.response !== undefined ? (
        <ShownText text={`Response for the model: ${confirmation.response}`} />
      ) : (
        // The reason table is written for Markdown.
        reasonOf(code).whatToDo.replaceAll('`', '')
      )}
    </p>
  );
}
