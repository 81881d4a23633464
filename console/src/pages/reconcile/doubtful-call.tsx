/** One call in doubt: what is known, where to look, and the way to say what was found. */
import { describeDecider } from '../../../../src/call/describe-identity.ts';
import type { ReactNode } from 'react';
import { useMemo, useRef, useState } from 'react';
import type { DecidedBy } from '../../../../src/call/event.ts';
import type { CallDetail } from '../../../../src/http/api/call.ts';
import type { NewResolution } from '../../../../src/http/api/confirmation.ts';
import { ToolCallCard } from '../../../../src/react/tool-call-card.tsx';
import type { UnresolvedCall } from '../../../../src/runtime/host/unresolved-call.ts';
import { resolutionWords } from '../../../../src/view/status-words.ts';
import { findToolCall, noToolCalls, reduceToolCalls } from '../../../../src/view/tool-calls.ts';
import type { ApiError } from '../../api/client.ts';
import { pathOf, send } from '../../api/client.ts';
import { toApiError, useAnswer } from '../../api/use-answer.ts';
import { useMay } from '../../api/use-me.ts';
import { addressOf } from '../../route.ts';
import { Ago } from '../../ui/ago.tsx';
import { LargeCalls } from '../../ui/large-calls.tsx';
import { Link } from '../../ui/link.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { useToast } from '../../ui/toast.tsx';
import { ValueBlock } from '../../ui/value-block.tsx';
import { ResolveForm } from './resolve-form.tsx';
import { WhereToLook } from './where-to-look.tsx';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';

type Props = {
  readonly sessionId: string;
  readonly callId: string;
  /** As the list has it; undefined where it is not in doubt, or further down. */
  readonly known: UnresolvedCall | undefined;
  readonly onResolved: () => void;
  readonly next: ReactNode;
};

export function DoubtfulCall({ sessionId, callId, known, onResolved, next }: Props): ReactNode {
  const path = pathOf('sessions', sessionId, 'calls', callId);
  const { data, error, reload } = useAnswer<CallDetail>(path, {}, { everyMs: 5_000 });
  const events = data?.events;
  const call = useMemo(
    () => (events === undefined ? undefined : findToolCall(reduceToolCalls(noToolCalls, events), callId)),
    [events, callId],
  );
  const may = useMay('approver');
  // Having the tool asked takes either role: it lets nothing run again by the word of a person.
  const mayAskTool = useMay('operator') || may;
  const showToast = useToast();
  const [sent, setSent] = useState<'mine' | 'late'>();
  const [asking, setAsking] = useState(false);
  const [refusal, setRefusal] = useState<ApiError>();
  const heading = useRef<HTMLHeadingElement>(null);

  const resolve = async (resolution: NewResolution): Promise<void> => {
    setRefusal(undefined);
    try {
      const after = await send<CallDetail>(`${path}/resolution`, resolution);
      if (after.call.resolution === undefined)
        showToast('The tool cannot say either. The call stays in doubt.', 'bad');
      else {
        setSent('mine');
        showToast(`Recorded: ${resolutionWords[after.call.resolution.resolution].toLowerCase()}.`);
        heading.current?.focus({ preventScroll: true });
      }
    } catch (thrown) {
      const problem = toApiError(thrown);
      if (problem.code === 'call.resolved') setSent('late');
      setRefusal(problem);
    }
    reload();
    onResolved();
  };
  const askTool = async (): Promise<void> => {
    if (asking) return;
    setAsking(true);
    await resolve({ ask: 'tool' });
    setAsking(false);
  };

  if (call === undefined)
    return error === undefined ? (
      <Skeleton rows={8} />
    ) : error.code === 'http.too_large' && error.facts['bytes'] !== undefined ? (
      <LargeCalls calls={[{ sessionId, callId, bytes: Number(error.facts['bytes']) }]} />
    ) : (
      <Problem error={error} onRetry={reload} />
    );
  const { resolution } = call;
  const given = data?.call.resolution?.result;
  return (
    <article className="question" aria-labelledby="doubt-title">
      <header className="question-head">
        <p className="question-line">
          <span className="badge" data-tone="unsure">
            <span className="dot" aria-hidden="true" />
            {call.unresolved ? 'in doubt' : 'known'}
          </span>
          {call.settledAt !== undefined && (
            <span className="muted">
              given up <Ago at={call.settledAt} />
            </span>
          )}
          <Link to={addressOf(['calls', sessionId, callId])}>Everything about it</Link>
        </p>
        <h2 id="doubt-title" ref={heading} tabIndex={-1}>
          <ForeignId id={call.displayName || call.toolName} />
        </h2>
      </header>
      {resolution !== undefined && (
        <div className="verdict" data-tone="good" role="status">
          <p>
            <strong>
              <ForeignText
                text={`${foundBy(resolution.by, sent === 'mine')}: ${resolutionWords[resolution.resolution].toLowerCase()}${resolution.reason === undefined ? '.' : `: ${resolution.reason}`}`}
              />
            </strong>
            {sent === 'late' && ' What you said came after that and changed nothing.'}
          </p>
          {given !== undefined && <ValueBlock label="What it gave" value={given} />}
          {next}
        </div>
      )}
      {known !== undefined && <WhereToLook call={known} reached={call.reached} />}
      {call.unresolved && (
        <section className="card">
          <header>
            <h3>{may ? 'What did you find?' : 'What happened?'}</h3>
            {mayAskTool && known?.canAskTool === true && (
              <button type="button" onClick={() => void askTool()} aria-disabled={asking}>
                {asking ? 'Asking…' : 'Ask the tool'}
              </button>
            )}
          </header>
          {may ? (
            <ResolveForm onResolve={resolve} />
          ) : (
            <p className="muted dialog-form">
              A person with the role approver can record what was found.
              {mayAskTool && known?.canAskTool === true && ' You can have the tool asked.'}
            </p>
          )}
          {refusal !== undefined && <Problem error={refusal} />}
        </section>
      )}
      <ToolCallCard call={call} />
    </article>
  );
}

/** A tool that was asked answers for itself, whoever had it asked. */
const foundBy = (by: DecidedBy, isMine: boolean): string =>
  by.type !== 'person'
    ? 'The tool said'
    : isMine
      ? 'You recorded'
      : `Already found out by ${describeDecider(by)}`;
