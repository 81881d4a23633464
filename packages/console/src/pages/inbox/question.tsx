/** One question: open with its possible answers, or decided with the result of the call. */
import type { ReactNode, RefObject } from 'react';
import { useEffect, useRef, useState } from 'react';
import type { SessionTerms } from '@quittance/server/internal/http/api/confirmation';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import { ToolCallCard } from '@quittance/react/src/tool-call-card.tsx';
import { useConsent } from '@quittance/react/src/use-consent.ts';
import { useMay } from '../../api/use-me.ts';
import { addressOf } from '../../route.ts';
import { Ago } from '../../ui/ago.tsx';
import { Link } from '../../ui/link.tsx';
import { isNotFound, Missing, removedOrElsewhere } from '../../ui/missing.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { GrantForm } from './grant-form.tsx';
import { QuestionContext } from './question-context.tsx';
import { QuestionPanel } from './question-panel.tsx';
import { riskLevel } from 'quittance/internal/view/risk-level';
import { riskWords } from './risk.ts';
import { SessionApproval } from './session-approval.tsx';
import { useAnswering } from './use-answering.ts';
import type { ShownQuestion } from './use-question.ts';
import { useQuestion } from './use-question.ts';
import type { Verdict } from './verdict.ts';
import { describeVerdict } from './verdict.ts';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';

type Props = {
  readonly confirmationId: string;
  /** Increases when the call of this question changes. */
  readonly changes: number;
  /** Called with the call of this question. */
  readonly onCall: (sessionId: string, callId: string) => void;
  readonly onDecided: () => void;
  /** Link to the next question, shown after the decision. */
  readonly next: ReactNode;
};

export function Question({ confirmationId, changes, onCall, onDecided, next }: Props): ReactNode {
  const { question, call, error, reload } = useQuestion(confirmationId);
  const [terms, setTerms] = useState<SessionTerms>();
  const answering = useAnswering(call, reload, terms);
  const consent = useConsent(call, answering.onDecide);
  const mayGrant = useMay('approver');
  const [granting, setGranting] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (changes > 0) reload();
  }, [changes, reload]);
  useReports(question, onCall, onDecided);
  const current = call?.confirmation;
  const isCurrent = current?.confirmationId === confirmationId;
  const isOpen = isCurrent && consent !== undefined;
  useKeptFocus(isOpen, heading);

  if (question === undefined) return <NoQuestion {...{ confirmationId, error, reload }} />;
  const verdict = describeVerdict(isCurrent && current !== undefined ? current : question, answering.isMine);
  return (
    <article
      className="question"
      aria-labelledby="question-title"
      data-seen={answering.isSeen}
      data-status={question.status}
    >
      <QuestionHead question={question} heading={heading} />
      {verdict !== undefined && (
        <VerdictBlock verdict={verdict} question={question} isTooLate={answering.isTooLate}>
          {next}
        </VerdictBlock>
      )}
      {!isCurrent && current !== undefined && (
        <p className="qt-note">
          This call has a newer question:{' '}
          <Link to={addressOf(['inbox', current.confirmationId])}>open it</Link>.
        </p>
      )}
      {call === undefined ? (
        <Skeleton rows={5} />
      ) : isOpen ? (
        <div className="qt-card question-card" data-tone="attention">
          <QuestionPanel
            key={confirmationId}
            call={call}
            consent={consent}
            beforeAnswers={
              mayGrant && (
                <SessionApproval confirmation={consent.confirmation} terms={terms} onTerms={setTerms} />
              )
            }
          >
            {mayGrant && (
              <button type="button" className="ghost question-grant" onClick={() => setGranting(true)}>
                Grant similar calls…
              </button>
            )}
          </QuestionPanel>
        </div>
      ) : (
        isCurrent && <ToolCallCard call={call} />
      )}
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      <QuestionContext question={question} />
      {granting && (
        <GrantForm
          like={{
            sessionId: question.sessionId,
            toolName: question.toolName,
            input: question.effectiveInput,
            hidden: question.hidden,
          }}
          onClose={() => setGranting(false)}
        />
      )}
    </article>
  );
}

/** Not loaded yet, not found, or an error. */
const NoQuestion = ({
  confirmationId,
  error,
  reload,
}: Pick<Props, 'confirmationId'> & Pick<ShownQuestion, 'error' | 'reload'>): ReactNode =>
  error === undefined ? (
    <Skeleton rows={8} />
  ) : isNotFound(error) ? (
    <Missing what="question" id={confirmationId} to="/inbox" list="Open questions">
      {removedOrElsewhere}
    </Missing>
  ) : (
    <Problem error={error} onRetry={reload} />
  );

/** Tells the list which call the question is about, and that it is decided. */
function useReports(
  question: ConfirmationView | undefined,
  onCall: Props['onCall'],
  onDecided: Props['onDecided'],
): void {
  const { sessionId, callId, status } = question ?? {};
  useEffect(() => {
    if (sessionId !== undefined && callId !== undefined) onCall(sessionId, callId);
  }, [sessionId, callId, onCall]);
  const isDecided = status !== undefined && status !== 'pending';
  useEffect(() => {
    if (isDecided) onDecided();
  }, [isDecided, onDecided]);
}

function QuestionHead({
  question,
  heading,
}: {
  readonly question: ConfirmationView;
  readonly heading: RefObject<HTMLHeadingElement | null>;
}): ReactNode {
  const level = riskWords[riskLevel(question.risk)];
  return (
    <header className="question-head">
      <p className="question-line">
        <span className="badge" data-tone={level.tone}>
          <span className="dot" aria-hidden="true" />
          {level.word}
        </span>
        <span className="muted">
          asked <Ago at={question.createdAt} />
        </span>
      </p>
      <h2 id="question-title" ref={heading} tabIndex={-1}>
        <ForeignId id={question.displayName || question.toolName} />
      </h2>
      <p className="question-description">
        <ForeignText text={question.description} />
      </p>
    </header>
  );
}

function VerdictBlock({
  verdict,
  question,
  isTooLate,
  children,
}: {
  readonly verdict: Verdict;
  readonly question: ConfirmationView;
  readonly isTooLate: boolean;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <div className="verdict" data-tone={verdict.tone} role="status">
      <p>
        <strong>
          <ForeignText text={verdict.sentence} />
        </strong>
        {isTooLate && ' Your answer came later and had no effect.'}
      </p>
      {question.decidedAt !== undefined && (
        <p className="muted">
          <Ago at={question.decidedAt} />
        </p>
      )}
      {children}
    </div>
  );
}

/** Moves the focus to the heading when the decided question's buttons disappear, for keyboard users. */
function useKeptFocus(isOpen: boolean, heading: { readonly current: HTMLElement | null }): void {
  const wasOpen = useRef(isOpen);
  useEffect(() => {
    const closed = wasOpen.current && !isOpen;
    wasOpen.current = isOpen;
    if (closed && (document.activeElement === document.body || document.activeElement === null))
      heading.current?.focus({ preventScroll: true });
  }, [isOpen, heading]);
}
