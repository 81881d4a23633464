/** One call: why it ended as it did, what it waited for, what it was given, what it did, and what was said about it. */
import { looksSecret, safeId, shownId } from '../../../../src/base/safe-id.ts';
import { escapeRightToLeft } from '../../../../src/base/safe-text.ts';
import type { ReactNode } from 'react';
import { useEffect, useMemo } from 'react';
import type { CallDetail } from '../../../../src/http/api/call.ts';
import { PreviewBlock } from '../../../../src/react/preview-block.tsx';
import { readCallEvent } from '../../../../src/view/read-call-event.ts';
import { pathOf } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { useFeed } from '../../api/use-feed.ts';
import { addressOf } from '../../route.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';
import { LargeCalls } from '../../ui/large-calls.tsx';
import { Link } from '../../ui/link.tsx';
import { OutcomeBadge } from '../../ui/outcome-badge.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { Age } from '../../ui/time.tsx';
import '../../styles/call.css';
import { AttemptsPanel } from './attempts-panel.tsx';
import { CallFacts, RelatedCalls } from './call-facts.tsx';
import { CallNotice } from './call-notice.tsx';
import { InputPanel } from './input-panel.tsx';
import { EventsPanel, RecordsPanel } from './records-panel.tsx';
import { RulesPanel } from './rules-panel.tsx';
import { ContentPanel } from './content-panel.tsx';
import { UndoButton } from './undo-button.tsx';
import { WaterfallChart } from './waterfall-chart.tsx';

type Props = { readonly sessionId: string; readonly callId: string };

export default function CallPage({ sessionId, callId }: Props): ReactNode {
  const { data, error, reload } = useAnswer<CallDetail>(pathOf('sessions', sessionId, 'calls', callId));
  // It may go on while it is looked at: decided in another tab, tried again, resolved weeks later.
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
      ) : error.code === 'call.unknown' ? (
        <Empty
          title="There is no such call"
          snippet={`quittance calls --session ${JSON.stringify(safeId(sessionId))}`}
        >
          <ForeignText text={error.message} /> A call has its id in its session only: both must be right.
        </Empty>
      ) : error.code === 'http.too_large' && error.facts['bytes'] !== undefined ? (
        <LargeCalls calls={[{ sessionId, callId, bytes: Number(error.facts['bytes']) }]} />
      ) : (
        <Problem error={error} onRetry={reload} />
      )}
    </>
  );
}

function Whole({ detail, reload }: { readonly detail: CallDetail; readonly reload: () => void }): ReactNode {
  const { call, summary, equivalents } = detail;
  // What a newer version wrote stands in the list of events as it came.
  const events = useMemo(() => detail.events.flatMap((event) => readCallEvent(event) ?? []), [detail.events]);
  useEffect(() => {
    document.title = `${escapeRightToLeft(shownId(call.toolName))} · Quittance`;
  }, [call.toolName]);
  return (
    <>
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
        <UndoButton detail={detail} onDone={reload} />
      </PageHead>
      <CallNotice detail={detail} />
      <div className="call-columns">
        <div className="call-main">
          <Panel title="Waterfall">
            <ScrollArea label="Waterfall">
              <WaterfallChart events={events} />
            </ScrollArea>
          </Panel>
          <Panel title="Inputs">
            <InputPanel events={events} />
          </Panel>
          {call.preview !== undefined && (
            <Panel title="What it said it would do">
              <div className="qt-card plain">
                <PreviewBlock shown={call.preview} />
              </div>
            </Panel>
          )}
          <Panel title="Attempts">
            <AttemptsPanel events={events} />
          </Panel>
          <Panel title="What the model was told">
            <ContentPanel detail={detail} />
          </Panel>
          <Panel title="Rules that fired">
            <ScrollArea label="Rules that fired">
              <RulesPanel events={events} />
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
        <aside className="call-side" aria-label="About the call">
          <Panel title="Facts">
            <CallFacts detail={detail} />
          </Panel>
          <Panel title="Cause and effect">
            <RelatedCalls detail={detail} />
          </Panel>
          <Panel title="The same elsewhere">
            <h3>Command line</h3>
            <Equivalent text={equivalents.cli} call={call} label="Copy the command" />
            <p className="muted">
              Beside the ledger; from elsewhere with <code>--ledger</code>.
            </p>
            <h3>curl</h3>
            <Equivalent text={equivalents.curl} call={call} label="Copy the curl command" />
            <p className="muted">
              With a token of yours: <code>quittance tokens create</code>.
            </p>
          </Panel>
        </aside>
      </div>
    </>
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

/** What is wider than its place can be scrolled, by keyboard too. */
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

/** Shows ids that look like secrets masked. The button copies a command that works. */
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
