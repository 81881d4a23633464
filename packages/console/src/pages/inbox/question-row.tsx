import type { ReactNode } from 'react';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import { Age } from '../../ui/time.tsx';
import { Countdown } from './countdown.tsx';
import { riskLevel } from 'quittance/internal/view/risk-level';
import { riskWords } from './risk.ts';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';

/** A question in the list: tool, reason, risk and time left. */
export function QuestionRow({ question }: { readonly question: ConfirmationView }): ReactNode {
  const { displayName, toolName, description, sessionId, createdAt, risk } = question;
  return (
    <>
      <span className="side-row-top">
        <strong className="clip">
          <ForeignId id={displayName || toolName} />
        </strong>
        <Age at={createdAt} />
      </span>
      <span className="clip">
        <ForeignText text={description} />
      </span>
      <span className="side-row-foot">
        <span className="risk-word">{riskWords[riskLevel(risk)].word}</span>
        <span className="clip muted">
          <ForeignId id={sessionId} />
        </span>
        <Countdown expiresAt={question.expiresAt} timeoutEffect={question.timeoutEffect} short />
      </span>
    </>
  );
}
