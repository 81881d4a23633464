import type { ReactNode } from 'react';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import { addressOf } from '../../route.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Link } from '../../ui/link.tsx';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';

/** Origin of the question: principal, model, session and call. */
export function QuestionFacts({ question }: { readonly question: ConfirmationView }): ReactNode {
  const { principal, provenance, sessionId, callId, inputDigest, policyVersion } = question;
  const who = [principal?.userId, principal?.serviceId, principal?.orgId, principal?.role].filter(
    (each) => each !== undefined,
  );
  const model = [provenance?.provider, provenance?.model].filter((each) => each !== undefined);
  return (
    <section className="card">
      <header>
        <h3>About the call</h3>
        <Link to={addressOf(['calls', sessionId, callId])}>Open call</Link>
      </header>
      <dl className="facts body">
        <dt>Principal</dt>
        <dd>{who.length === 0 ? 'not given' : <ForeignText text={who.join(' · ')} />}</dd>
        <dt>Model</dt>
        <dd>{model.length === 0 ? 'not given' : <ForeignText text={model.join(' · ')} />}</dd>
        <dt>Session</dt>
        <dd>
          <Link to={addressOf(['sessions', sessionId])}>
            <ForeignId id={sessionId} />
          </Link>
        </dd>
        <dt>Call</dt>
        <dd>
          <code>
            <ForeignId id={callId} />
          </code>
        </dd>
        {policyVersion !== undefined && (
          <>
            <dt>Policy</dt>
            <dd>
              <code title={policyVersion}>
                <ForeignText text={policyVersion.slice(0, 16)} />
              </code>
            </dd>
          </>
        )}
        <dt>Input digest</dt>
        <dd className="digest">
          <code>{inputDigest}</code>
          <CopyButton text={inputDigest} label="Copy digest" />
        </dd>
      </dl>
    </section>
  );
}
