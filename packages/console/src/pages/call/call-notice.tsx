import { describeDecider } from 'quittance/internal/call/describe-identity';
import type { ReactNode } from 'react';
import { missingOf } from 'quittance/internal/call/quorum';
import { ApprovalProgress } from '@quittance/react/src/consent-panel.tsx';
import type { CallDetail } from '@quittance/server/internal/http/api/call';
import { reasonTable } from 'quittance/internal/call/reason';
import type { ReasonCode } from 'quittance/internal/call/reason';
import { addressOf } from '../../route.ts';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import type { Tone } from '../../ui/outcome-badge.tsx';
import { describeOutcome } from '../../ui/outcome-badge.tsx';
import { RuleLink } from '../../ui/rule-link.tsx';
import { Prose } from '../../ui/prose.tsx';
import { ValueBlock } from '../../ui/value-block.tsx';
import { formatTime } from '../../ui/time.tsx';

/** The most important fact about the call: it waits for approval, its effect is unknown, or why it did not succeed. */
export function CallNotice({ detail: { call, summary } }: { readonly detail: CallDetail }): ReactNode {
  const { confirmation, resolution, undone } = call;
  const { code, message } = summary;
  const reason = isReason(code) ? reasonTable[code] : undefined;
  const hasEnded = code !== undefined && call.status === 'settled';
  return (
    <>
      {call.status === 'held' && confirmation !== undefined && (
        <Notice tone="attention" title="Waiting for approval">
          <p>
            <ForeignText text={confirmation.description} />
          </p>
          <ApprovalProgress
            confirmation={{ ...confirmation, missing: missingOf(confirmation, confirmation.votes) }}
          />
          <p>
            <Link to={addressOf(['inbox', confirmation.confirmationId])}>Decide in the inbox</Link>
            {confirmation.expiresAt !== undefined && `, until ${formatTime(confirmation.expiresAt)}`}
          </p>
        </Notice>
      )}
      {hasEnded && (
        <Notice tone={describeOutcome(summary).tone} title={reason?.title ?? code}>
          {message !== undefined && (
            <p>
              <ForeignText text={message} />
            </p>
          )}
          {call.decidedBy?.type === 'rule' && (
            <p>
              Rule <RuleLink ruleId={call.decidedBy.name} policyVersion={call.policyVersion} />
            </p>
          )}
          {summary.unresolved && <ResolveLink call={call} />}
          {!summary.unresolved && reason !== undefined && (
            <p className="muted">
              <Prose text={reason.whatToDo} />
            </p>
          )}
        </Notice>
      )}
      {summary.unresolved && !hasEnded && (
        <Notice tone="unsure" title="Unresolved">
          <ResolveLink call={call} />
        </Notice>
      )}
      {resolution !== undefined && (
        <Notice tone="good" title={`Resolved: ${resolution.resolution.replaceAll('_', ' ')}`}>
          <p>
            By <ForeignText text={describeDecider(resolution.by)} />, {formatTime(resolution.at)}
            {resolution.reason !== undefined && (
              <>
                : <ForeignText text={resolution.reason} />
              </>
            )}
          </p>
          {resolution.result !== undefined && <ValueBlock label="Result" value={resolution.result} />}
        </Notice>
      )}
      {undone !== undefined && (
        <Notice tone="attention" title="Undone">
          <p>
            By <ForeignText text={describeDecider(undone.by)} />, {formatTime(undone.at)}
            {undone.reason !== undefined && (
              <>
                : <ForeignText text={undone.reason} />
              </>
            )}
          </p>
        </Notice>
      )}
    </>
  );
}

const ResolveLink = ({ call }: { readonly call: CallDetail['call'] }): ReactNode => (
  <p>
    <Link to={addressOf(['reconcile', call.sessionId, call.callId])}>Resolve it</Link> once you know whether
    the call took effect.
  </p>
);

const isReason = (code: string | undefined): code is ReasonCode =>
  code !== undefined && Object.hasOwn(reasonTable, code);

function Notice({
  tone,
  title,
  children,
}: {
  readonly tone: Tone;
  readonly title: string;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <section className="notice" data-tone={tone}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}
