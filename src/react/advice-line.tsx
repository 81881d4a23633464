import type { ReactNode } from 'react';
import { reasonOf } from '../call/reason.ts';
import type { ToolCallView } from '../view/tool-call-view.ts';
import { ShownText } from './shown-text.tsx';

/** The machine word for why a call did not succeed, and what to do about it. */
export function AdviceLine({ call: { outcome, confirmation } }: { readonly call: ToolCallView }): ReactNode {
  if (outcome === undefined || !('code' in outcome)) return null;
  const { code } = outcome;
  return (
    <p className="qt-advice">
      <code>{code}</code>{' '}
      {code === 'confirmation.answered' && confirmation?.response !== undefined ? (
        <ShownText text={`The model was told: ${confirmation.response}`} />
      ) : (
        // The table of reasons is written for pages that know backticks.
        reasonOf(code).whatToDo.replaceAll('`', '')
      )}
    </p>
  );
}
