import type { ReactNode } from 'react';
import { digestLabel } from '../../ui/digest-label.ts';
import { Problem } from '../../ui/problem.tsx';
import type { Checked } from './use-check.ts';

/** Is the draft valid? */
export function CheckState({ checked: { check, error } }: { readonly checked: Checked }): ReactNode {
  if (error !== undefined) return <Problem error={error} />;
  return (
    <p className="check-state" role="status">
      {check === undefined ? (
        <span className="muted">Checking…</span>
      ) : check.ok ? (
        <>
          <span className="badge" data-tone="good">
            valid
          </span>{' '}
          {check.policyVersion !== undefined && (
            <code className="muted" title={check.policyVersion}>
              {digestLabel(check.policyVersion)}
            </code>
          )}
        </>
      ) : (
        <span className="badge" data-tone="bad">
          {check.problems.length} {check.problems.length === 1 ? 'problem' : 'problems'}
        </span>
      )}
    </p>
  );
}
