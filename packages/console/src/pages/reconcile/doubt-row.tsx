import type { ReactNode } from 'react';
import type { UnresolvedCall } from 'quittance/internal/runtime/views';
import { Age } from '../../ui/time.tsx';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';

/** An unresolved call in the list: its tool, error and age. */
export function DoubtRow({ call }: { readonly call: UnresolvedCall }): ReactNode {
  const { displayName, toolName, outcome, sessionId, settledAt, late } = call;
  return (
    <>
      <span className="side-row-top">
        <strong className="clip">
          <ForeignId id={displayName || toolName} />
        </strong>
        <Age at={settledAt} />
      </span>
      <span className="clip">
        {'error' in outcome ? <ForeignText text={outcome.error} /> : 'The call timed out.'}
      </span>
      <span className="side-row-foot">
        <span className="risk-word">{doubtWord(call)}</span>
        <span className="clip muted">
          <ForeignId id={sessionId} />
        </span>
        {late.length > 0 && <span className="countdown">late result</span>}
      </span>
    </>
  );
}

function doubtWord({ outcome }: UnresolvedCall): string {
  if (outcome.type === 'ToolTimeout') return 'timed out';
  return 'code' in outcome && outcome.code === 'tool.indeterminate' ? 'unknown' : 'interrupted';
}
