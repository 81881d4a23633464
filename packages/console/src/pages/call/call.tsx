/** One call: its outcome, timing, arguments, attempts, model content, rules and records. */
import { looksSecret, shownId } from 'quittance/internal/base/safe-id';
import { escapeRightToLeft } from 'quittance/internal/base/safe-text';
import type { ReactNode } from 'react';
import { useEffect, useMemo } from 'react';
import type { CallDetail } from '@quittance/server/internal/http/api/call';
import { ComparisonBlock } from '@quittance/react/src/consent-panel.tsx';
import { PreviewBlock } from '@quittance/react/src/preview-block.tsx';
import { readCallEvent } from 'quittance/internal/view/read-call-event';
import { pathOf } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { useFeed } from '../../api/use-feed.ts';
import { useMe } from '../../api/use-me.ts';
import { addressOf } from '../../route.ts';
import { toRepeated, toRepeatInput } from 'quittance/internal/view/repeat-input';
import { RunButton } from '../../run-call/run-button.tsx';
import { Conversation } from '../../ui/conversation.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';
import { LargeCalls } from '../../ui/large-calls.tsx';
import { Link } from '../../ui/link.tsx';
import { isNotFound, Missing, removedOrElsewhere } from '../../ui/missing.tsx';
import { OutcomeBadge } from '../../ui/outcome-badge.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { pageTitle } from '../../ui/page-title.ts';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { Age } from '../../ui/time.tsx';
import '../../styles/call.css';
import { AttemptsPanel } from './attempts-panel.tsx';
import { CallFacts, RelatedCalls } from './call-facts.tsx';
import { CallNotice } from './call-notice.tsx';
import { InputPanel } from './input-panel.tsx';
import { OutputPanel } from './output-panel.tsx';
import { EventsPanel, RecordsPanel } from './records-panel.tsx';
import { RulesPanel } from './rules-panel.tsx';
import { ContentPanel } from './content-panel.tsx';
import { UndoButton } from './undo-button.tsx';
import { WaterfallChart } from './waterfall-chart.tsx';

type Props = { readonly sessionId: string; readonly callId: string };

export default function CallPage({ sessionId, callId }: Props): ReactNode {
  const { data, error, reload } = useAnswer<CallDetail>(pathOf('sessions', sessionId, 'calls', callId));
  // The call may change while it is shown: decided in another tab, retried, or resolved weeks later.
  const status = useFeed({ after: 'now', sessionId, callId }, reload);
  useEffect(() => {
    if (status === 'live') reload();
  }, [status, reload]);
  if (data !== undefined) return <Whole detail={data} reload={reload} />;
  return (
    <>
      <PageHead title="Call" about={<ForeignId id={callId} />} />
      {error === undefined ? (
        <Skeleton rows={10} />
      ) : isNotFound(error) ? (
        <Missing what="call" id={callId} to={addressOf(['calls'], { sessionId })} list="Calls of the session">
          Its id is unique within its session only. {removedOrElsewhere}
        </Missing>
      ) : error.code === 'http.too_large' && error.facts['bytes'] !== undefined ? (
        <LargeCalls calls={[{ sessionId, callId, bytes: Number(error.facts['bytes']) }]} />
      ) : (
        <Problem error={error} onRetry={reload} />
      )}
    </>
  );
}

function Whole({ detail, reload }: Detail & { readonly reload: () => void }): ReactNode {
  const { call } = detail;
  // Events of newer versions appear only in the list of events.
  const events = useMemo(() => detail.events.flatMap((event) => readCallEvent(event) ?? []), [detail.events]);
  const { name: ledgerName } = useMe().console;
  useEffect(() => {
    document.title = pageTitle(escapeRightToLeft(shownId(call.toolName)), ledgerName);
  }, [call.toolName, ledgerName]);
  return (
    <>
      <CallHead detail={detail} reload={reload} />
      <CallNotice detail={detail} />
      <div className="call-columns">
        <div className="call-main">
          <Panel title="Inputs">
            <InputPanel events={events} />
          </Panel>
          <Panel title="Output">
            <OutputPanel detail={detail} />
          </Panel>
          <Conversation attrs={call.attrs} />
          {call.preview !== undefined && (
            <Panel title="Preview">
              <div className="qt-card plain">
                <PreviewBlock shown={call.preview} />
              </div>
            </Panel>
          )}
          {call.comparison !== undefined && (
            <Panel title="Compared with the last call">
              <div className="qt-card plain">
                <ComparisonBlock comparison={call.comparison} />
              </div>
            </Panel>
          )}
          <Panel title="Model content">
            <ContentPanel detail={detail} />
          </Panel>
          <Panel title="Waterfall">
            <ScrollArea label="Waterfall">
              <WaterfallChart events={events} />
            </ScrollArea>
          </Panel>
          <Panel title="Attempts">
            <AttemptsPanel events={events} />
          </Panel>
          <Panel title="Rules that fired">
            <ScrollArea label="Rules that fired">
              <RulesPanel events={events} policyVersion={call.policyVersion} />
            </ScrollArea>
          </Panel>
          <Panel title="Records">
            <ScrollArea label="Records">
              <RecordsPanel records={detail.audit} />
            </ScrollArea>
          </Panel>
          <Panel title={`Events (${detail.events.length})`}>
            <EventsPanel events={detail.events} />
          </Panel>
        </div>
        <CallSide detail={detail} />
      </div>
    </>
  );
}

type Detail = { readonly detail: CallDetail };

function CallHead({ detail, reload }: Detail & { readonly reload: () => void }): ReactNode {
  const { call, summary } = detail;
  return (
    <PageHead
      title={
        <span className="call-title">
          <ForeignId id={call.toolName} />
          <OutcomeBadge call={summary} />
          <span className="chip">{call.mode.replaceAll('_', ' ')}</span>
        </span>
      }
      about={
        <>
          <Link to="/calls">Calls</Link> /{' '}
          <Link to={addressOf(['sessions', call.sessionId])}>
            <ForeignId id={call.sessionId} />
          </Link>{' '}
          / <ForeignId id={call.callId} /> · <Age at={call.requestedAt} />
        </>
      }
    >
      <RunButton
        label="Run again…"
        request={{ toolName: call.toolName, ...toRepeatInput(call), repeats: toRepeated(call) }}
      />
      <Link className="button" to={addressOf(['sessions', call.sessionId], { fork: call.callId })}>
        Fork from here…
      </Link>
      <UndoButton detail={detail} onDone={reload} />
    </PageHead>
  );
}

/** Facts, related calls, and the same call in other interfaces. */
function CallSide({ detail }: Detail): ReactNode {
  const { call, equivalents } = detail;
  return (
    <aside className="call-side" aria-label="About the call">
      <Panel title="Facts">
        <CallFacts detail={detail} />
      </Panel>
      <Panel title="Related calls">
        <RelatedCalls detail={detail} />
      </Panel>
      <Panel title="View via CLI or API">
        <h3>Command line</h3>
        <Equivalent text={equivalents.cli} call={call} label="Copy command" />
        <p className="muted">
          Run it in the folder of the ledger, or add <code>--ledger</code>.
        </p>
        <h3>curl</h3>
        <Equivalent text={equivalents.curl} call={call} label="Copy curl command" />
        <p className="muted">
          Needs a token: <code>quittance tokens create</code>.
        </p>
      </Panel>
    </aside>
  );
}

function Panel({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactNode {
  return (
    <section className="card">
      <header>
        <h2>{title}</h2>
      </header>
      <div className="body">{children}</div>
    </section>
  );
}

/** Scrolls wide content, also by keyboard. */
const ScrollArea = ({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ReactNode;
}): ReactNode => (
  <div className="scroll-x" role="group" aria-label={label} tabIndex={0}>
    {children}
  </div>
);

/** Masks ids that look like secrets. The button copies the working command. */
function Equivalent({ text, call, label }: EquivalentProps): ReactNode {
  const shown = [call.sessionId, call.callId]
    .filter(looksSecret)
    .reduce(
      (before, id) => before.replaceAll(id, shownId(id)).replaceAll(encodeURIComponent(id), shownId(id)),
      text,
    );
  return (
    <div className="snippet">
      <pre>
        <code>
          <ForeignText text={shown} />
        </code>
      </pre>
      <CopyButton text={text} label={label} />
    </div>
  );
}

type EquivalentProps = { readonly text: string; readonly call: CallDetail['call']; readonly label: string };
