/** One unresolved call: the known facts, where to look, and the form that resolves it. */
import { describeDecider } from 'quittance/internal/call/describe-identity';
import type { ReactNode } from 'react';
import { useMemo, useRef, useState } from 'react';
import type { JsonValue } from 'quittance/internal/base/json';
import type { DecidedBy, ToolResolved } from 'quittance/internal/call/event';
import type { CallDetail } from '@quittance/server/internal/http/api/call';
import type { NewResolution } from '@quittance/server/internal/http/api/confirmation';
import { ToolCallCard } from '@quittance/react/src/tool-call-card.tsx';
import type { UnresolvedCall } from 'quittance/internal/runtime/views';
import { resolutionWords } from 'quittance/internal/view/status-words';
import { findToolCall, noToolCalls, reduceToolCalls } from 'quittance/internal/view/tool-calls';
import type { ApiError } from '../../api/client.ts';
import { pathOf, send } from '../../api/client.ts';
import { toApiError, useAnswer } from '../../api/use-answer.ts';
import { useMay } from '../../api/use-me.ts';
import { addressOf } from '../../route.ts';
import { Ago } from '../../ui/ago.tsx';
import { LargeCalls } from '../../ui/large-calls.tsx';
import { Link } from '../../ui/link.tsx';
import { isNotFound, Missing, removedOrElsewhere } from '../../ui/missing.tsx';
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
  /** The call's list entry; undefined if it is resolved or not loaded yet. */
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
  const heading = useRef<HTMLHeadingElement>(null);
  const resolving = useResolving(path, (isRecorded) => {
    if (isRecorded) heading.current?.focus({ preventScroll: true });
    reload();
    onResolved();
  });

  if (call === undefined)
    return error === undefined ? (
      <Skeleton rows={8} />
    ) : error.code === 'http.too_large' && error.facts['bytes'] !== undefined ? (
      <LargeCalls calls={[{ sessionId, callId, bytes: Number(error.facts['bytes']) }]} />
    ) : isNotFound(error) ? (
      <Missing what="call" id={callId} to="/reconcile" list="Unresolved calls">
        {removedOrElsewhere}
      </Missing>
    ) : (
      <Problem error={error} onRetry={reload} />
    );
  return (
    <article className="question" aria-labelledby="doubt-title">
      <header className="question-head">
        <p className="question-line">
          <span className="badge" data-tone="unsure">
            <span className="dot" aria-hidden="true" />
            {call.unresolved ? 'unresolved' : 'resolved'}
          </span>
          {call.settledAt !== undefined && (
            <span className="muted">
              ended <Ago at={call.settledAt} />
            </span>
          )}
          <Link to={addressOf(['calls', sessionId, callId])}>Open call</Link>
        </p>
        <h2 id="doubt-title" ref={heading} tabIndex={-1}>
          <ForeignId id={call.displayName || call.toolName} />
        </h2>
      </header>
      {call.resolution !== undefined && (
        <ResolutionBlock
          resolution={call.resolution}
          result={data?.call.resolution?.result}
          sent={resolving.sent}
        >
          {next}
        </ResolutionBlock>
      )}
      {known !== undefined && <WhereToLook call={known} reached={call.reached} />}
      {call.unresolved && <ResolveSection resolving={resolving} canAskTool={known?.canAskTool === true} />}
      <ToolCallCard call={call} />
    </article>
  );
}

type Resolving = {
  readonly resolve: (resolution: NewResolution) => Promise<void>;
  /** `mine`: the resolution of this page was recorded. `late`: another one was recorded first. */
  readonly sent: 'mine' | 'late' | undefined;
  readonly refusal: ApiError | undefined;
};

/** Sends a resolution. `path`: the call. `onDone` learns whether this page's resolution was recorded. */
function useResolving(path: string, onDone: (isRecorded: boolean) => void): Resolving {
  const showToast = useToast();
  const [sent, setSent] = useState<'mine' | 'late'>();
  const [refusal, setRefusal] = useState<ApiError>();
  const resolve = async (resolution: NewResolution): Promise<void> => {
    setRefusal(undefined);
    let isRecorded = false;
    try {
      const { call } = await send<CallDetail>(`${path}/resolution`, resolution);
      if (call.resolution === undefined)
        showToast('The tool does not know either. The call stays unresolved.', 'bad');
      else {
        isRecorded = true;
        setSent('mine');
        showToast(`Recorded: ${resolutionWords[call.resolution.resolution].toLowerCase()}.`);
      }
    } catch (thrown) {
      const problem = toApiError(thrown);
      if (problem.code === 'call.resolved') setSent('late');
      setRefusal(problem);
    }
    onDone(isRecorded);
  };
  return { resolve, sent, refusal };
}

function ResolutionBlock({
  resolution: { by, resolution, reason },
  result,
  sent,
  children,
}: {
  readonly resolution: ToolResolved;
  readonly result: JsonValue | undefined;
  readonly sent: Resolving['sent'];
  readonly children: ReactNode;
}): ReactNode {
  const words = `${resolvedBy(by, sent === 'mine')}: ${resolutionWords[resolution].toLowerCase()}`;
  return (
    <div className="verdict" data-tone="good" role="status">
      <p>
        <strong>
          <ForeignText text={`${words}.${reason === undefined ? '' : ` ${reason}`}`} />
        </strong>
        {sent === 'late' && ' Your resolution came later and had no effect.'}
      </p>
      {result !== undefined && <ValueBlock label="Result" value={result} />}
      {children}
    </div>
  );
}

/** The form for people, and the button that asks the tool. */
function ResolveSection({
  resolving: { resolve, refusal },
  canAskTool,
}: {
  readonly resolving: Resolving;
  readonly canAskTool: boolean;
}): ReactNode {
  const may = useMay('approver');
  // Operators may also ask the tool, because its answer does not rely on a person's word.
  const mayAskTool = useMay('operator') || may;
  const [asking, setAsking] = useState(false);
  const askTool = async (): Promise<void> => {
    if (asking) return;
    setAsking(true);
    await resolve({ ask: 'tool' });
    setAsking(false);
  };
  return (
    <section className="card">
      <header>
        <h3>{may ? 'What did you find?' : 'What happened?'}</h3>
        {mayAskTool && canAskTool && (
          <button type="button" onClick={() => void askTool()} aria-disabled={asking}>
            {asking ? 'Asking…' : 'Ask the tool'}
          </button>
        )}
      </header>
      {may ? (
        <ResolveForm onResolve={resolve} />
      ) : (
        <p className="muted dialog-form">
          A user with the role <code>approver</code> can resolve this call.
          {mayAskTool && canAskTool && ' You can ask the tool.'}
        </p>
      )}
      {refusal !== undefined && <Problem error={refusal} />}
    </section>
  );
}

/** If the tool was asked, the answer is the tool's, not the asking person's. */
const resolvedBy = (by: DecidedBy, isMine: boolean): string =>
  by.type !== 'person'
    ? 'Resolved by the tool'
    : isMine
      ? 'Resolved by you'
      : `Already resolved by ${describeDecider(by)}`;
