/** Approves for the session: the approval also covers the next calls of the tool that the same rules ask about. */
import type { ReactNode } from 'react';
import { useId } from 'react';
import type { SessionTerms } from '@quittance/server/internal/http/api/confirmation';
import { isAnswerable } from 'quittance/internal/call/call';
import { limits } from 'quittance/internal/call/limits';
import type { ShownConfirmation } from 'quittance/internal/view/tool-call-view';
import { spanLabel } from './read-grant.ts';

type Props = {
  readonly confirmation: ShownConfirmation;
  readonly terms: SessionTerms | undefined;
  readonly onTerms: (terms: SessionTerms | undefined) => void;
};

/** Nothing for questions that only a person may answer: a repeated effect, a stage of a workflow. */
export function SessionApproval({ confirmation, terms, onTerms }: Props): ReactNode {
  const stem = useId();
  if (!confirmation.answers.includes('approve') || !confirmation.asks.every(isAnswerable)) return null;
  const isShared = confirmation.asks.some(({ approval }) => approval !== undefined);
  return (
    <fieldset className="question-part session-approval">
      <legend className="hidden">Approve for this session</legend>
      <label>
        <input
          type="checkbox"
          checked={terms !== undefined}
          onChange={(event) => onTerms(event.currentTarget.checked ? limits.forSession.usual : undefined)}
        />
        Approve for this session
      </label>
      {terms !== undefined && (
        <>
          <label htmlFor={`${stem}uses`}>for the next</label>
          <select
            id={`${stem}uses`}
            value={terms.uses}
            onChange={(event) => onTerms({ ...terms, uses: Number(event.currentTarget.value) })}
          >
            {limits.forSession.offeredUses.map((uses) => (
              <option key={uses} value={uses}>
                {uses} calls
              </option>
            ))}
          </select>
          <label htmlFor={`${stem}for`}>within</label>
          <select
            id={`${stem}for`}
            value={terms.forMs}
            onChange={(event) => onTerms({ ...terms, forMs: Number(event.currentTarget.value) })}
          >
            {limits.forSession.offered.map((forMs) => (
              <option key={forMs} value={forMs}>
                {spanLabel(forMs)}
              </option>
            ))}
          </select>
          <p className="muted">
            Approve then also approves calls of this tool in this session, with any arguments, that the same
            rules ask about.
            {isShared && ' All needed approvers must choose this, and the narrowest limits count.'} Revoke it
            under Grants.
          </p>
        </>
      )}
    </fieldset>
  );
}
