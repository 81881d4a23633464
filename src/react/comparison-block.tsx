import type { ReactNode } from 'react';
import type { ShownConfirmation } from '../view/tool-call-view.ts';
import { PreviewBlock } from './preview-block.tsx';
import { ExactText } from './shown-text.tsx';

/** Replaces a missing preview: a comparison with an earlier call, or a note that there is none. */
export function ComparisonBlock({
  comparison,
}: {
  readonly comparison: ShownConfirmation['comparison'];
}): ReactNode {
  if (comparison === undefined)
    return (
      <p className="qt-note">
        The tool has no preview, and there is no earlier call on the same resource to compare with.
      </p>
    );
  const { callId, fields, more } = comparison;
  return (
    <>
      <p className="qt-note">
        The tool has no preview. Compared with call <ExactText text={callId} /> on the same resource
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
