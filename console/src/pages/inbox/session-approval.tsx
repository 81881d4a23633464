/** Approves for the session: the approval also covers the next calls of the tool that the same rules ask about. */
import type { ReactNode } from 'react';
import { useId } from 'react';
import type { SessionTerms } from '../../../../src/http/api/confirmation.ts';
import { isAnswerable } from '../../../../src/call/is-answerable.ts';
import type { ShownConfirmation } from '../../../../src/view/tool-call-view.ts';

const durations = [
  { label: '15 minutes', forMs: 900_000 },
  { label: '1 hour', forMs: 3_600_000 },
  { label: '8 hours', forMs: 28_800_000 },
  { label: '1 day', forMs: 86_400_000 },
] as const;
const counts = [3, 10, 30, 100] as const;
const startTerms: SessionTerms = { forMs: 3_600_000, uses: 10 };

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
          onChange={(event) => onTerms(event.currentTarget.checked ? startTerms : undefined)}
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
            {counts.map((uses) => (
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
            {durations.map(({ label, forMs }) => (
              <option key={forMs} value={forMs}>
                {label}
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
