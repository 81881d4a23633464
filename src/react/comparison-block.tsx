import type { ReactNode } from 'react';
import type { ShownConfirmation } from '../view/tool-call-view.ts';
import { PreviewBlock } from './preview-block.tsx';
import { ExactText } from './shown-text.tsx';

/** What there is to see where the tool shows no preview: a comparison with an earlier call, or that there is nothing. */
export function ComparisonBlock({
  comparison,
}: {
  readonly comparison: ShownConfirmation['comparison'];
}): ReactNode {
  if (comparison === undefined)
    return (
      <p className="qt-note">
        No preview: the tool shows none, and there is no earlier call on the same resource to compare with.
      </p>
    );
  const { callId, fields, more } = comparison;
  return (
    <>
      <p className="qt-note">
        The tool shows no preview. Compared with call <ExactText text={callId} /> on the same resource
        {fields.length === 0 ? ': the arguments are the same.' : ':'}
      </p>
      {fields.length > 0 && (
        <PreviewBlock
          shown={{
            revision: 1,
            ready: true,
            preview: { kind: 'fields', fields },
            snapshot: {},
            expiresAt: undefined,
          }}
        />
      )}
      {more > 0 && <p className="qt-note">And {more.toLocaleString()} more differences.</p>}
    </>
  );
}
