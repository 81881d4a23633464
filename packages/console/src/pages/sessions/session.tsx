/** One session: its calls as a timeline and as a table. */
import type { ReactNode } from 'react';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { SessionDetail, Timeline } from '@quittance/server/internal/http/api/session';
import { pathOf } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { useFeed } from '../../api/use-feed.ts';
import { addressOf, goTo, useRoute } from '../../route.ts';
import { Ago } from '../../ui/ago.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { isNotFound, Missing, removedOrElsewhere } from '../../ui/missing.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { useServerNow } from '../../ui/time.tsx';
import { CompareButton } from './compare-button.tsx';
import { ForkButton } from './fork-button.tsx';
import { ForkNote } from './fork-note.tsx';
import { createSessionScale } from './time-scale.ts';
import { TimelineChart } from './timeline-chart.tsx';
import { TimelineTable } from './timeline-table.tsx';
import '../../styles/sessions.css';
import { ForeignId } from '../../ui/foreign-text.tsx';

const pageSize = 100;
const gatherMs = 300;

export default function Session({ sessionId }: { readonly sessionId: string }): ReactNode {
  const { query } = useRoute();
  const cursor = query.get('cursor') ?? undefined;
  const squeeze = query.get('time') !== 'true';
  const detail = useAnswer<SessionDetail>(pathOf('sessions', sessionId));
  const timeline = useAnswer<Timeline>(pathOf('sessions', sessionId, 'timeline'), {
    limit: pageSize,
    cursor,
  });
  useChanges(sessionId, [detail.reload, timeline.reload]);
  const { session, head, fork } = detail.data ?? {};
  if (isNotFound(detail.error))
    return (
      <>
        <PageHead title="Session" />
        <Missing what="session" id={sessionId} to="/sessions" list="All sessions">
          {removedOrElsewhere}
        </Missing>
      </>
    );
  return (
    <>
      <PageHead
        title={<ForeignId id={sessionId} />}
        about={
          session !== undefined && (
            <>
              Started <Ago at={session.firstAt} />, last call <Ago at={session.lastAt} />
            </>
          )
        }
      >
        <Link className="button" to={addressOf(['calls'], { sessionId })}>
          Calls
        </Link>
        <Link className="button" to={addressOf(['inbox'], { tab: 'grants', session: sessionId })}>
          Grants
        </Link>
        <CompareButton key={`compare ${sessionId}`} sessionId={sessionId} />
        <ForkButton
          key={`fork ${sessionId}`}
          sessionId={sessionId}
          rows={timeline.data?.rows}
          callId={query.get('fork') ?? undefined}
        />
      </PageHead>
      {fork !== undefined && <ForkNote sessionId={sessionId} fork={fork} />}
      {detail.error !== undefined && <Problem error={detail.error} onRetry={detail.reload} />}
      {session !== undefined && <SessionFigures session={session} head={head} />}
      {timeline.error !== undefined && detail.error === undefined && (
        <Problem error={timeline.error} onRetry={timeline.reload} />
      )}
      {timeline.data === undefined ? (
        timeline.error === undefined && <Skeleton rows={8} />
      ) : timeline.data.rows.length === 0 ? (
        <Empty title="No calls">
          {cursor === undefined ? 'This session has no calls yet.' : 'There are no older calls.'}
        </Empty>
      ) : (
        <Shown timeline={timeline.data} squeeze={squeeze}>
          <span className="muted">
            {describeExtent(timeline.data.rows.length, session?.calls, cursor !== undefined)}
          </span>
          <TimelineControls {...{ sessionId, cursor, squeeze }} next={timeline.data.next} />
        </Shown>
      )}
    </>
  );
}

function SessionFigures({
  session,
  head,
}: {
  readonly session: SessionDetail['session'];
  readonly head: SessionDetail['head'] | undefined;
}): ReactNode {
  return (
    <dl className="numbers">
      <Figure label="Calls" value={session.calls} />
      <Figure label="Open" value={session.openCalls} />
      <Figure label="Failed" value={session.failures} />
      <Figure label="Denied" value={session.denials} />
      <Figure label="Unresolved" value={session.unresolved} />
      {head !== undefined && (
        <div className="chain">
          <dt>Chain head, entry {head.sequence}</dt>
          <dd>
            <code title={head.hash}>{head.hash.slice(0, 23)}…</code>
            <CopyButton text={head.hash} label="Copy chain hash" />
          </dd>
        </div>
      )}
    </dl>
  );
}

function TimelineControls({
  sessionId,
  cursor,
  squeeze,
  next,
}: {
  readonly sessionId: string;
  readonly cursor: string | undefined;
  readonly squeeze: boolean;
  readonly next: string | undefined;
}): ReactNode {
  const path = ['sessions', sessionId];
  const time = squeeze ? undefined : 'true';
  return (
    <>
      <label className="inline-check">
        <input
          type="checkbox"
          checked={squeeze}
          onChange={({ currentTarget: { checked } }) =>
            goTo(addressOf(path, { cursor, time: checked ? undefined : 'true' }), { replace: true })
          }
        />
        Shorten waits
      </label>
      {cursor !== undefined && (
        <Link className="button" to={addressOf(path, { time })}>
          Newest
        </Link>
      )}
      {next !== undefined && (
        <Link className="button" to={addressOf(path, { cursor: next, time })}>
          Older
        </Link>
      )}
    </>
  );
}

function Shown({
  timeline,
  squeeze,
  children,
}: {
  readonly timeline: Timeline;
  readonly squeeze: boolean;
  readonly children: ReactNode;
}): ReactNode {
  const isOpen = timeline.rows.some(({ spans }) => spans.at(-1)?.to === undefined);
  const ticking = useServerNow(1_000);
  // If all calls have ended, the chart is static.
  const now = isOpen ? ticking : 0;
  const scale = useMemo(
    () => createSessionScale(timeline.rows, now, { squeeze }),
    [timeline.rows, now, squeeze],
  );
  const [active, setActive] = useState<string>();
  return (
    <>
      <section className="card" aria-labelledby="timeline-title">
        <header>
          <h2 id="timeline-title">Timeline</h2>
          <div className="actions">{children}</div>
        </header>
        <TimelineChart timeline={timeline} scale={scale} now={now} active={active} onActive={setActive} />
        <Legend />
      </section>
      <TimelineTable timeline={timeline} now={now} active={active} onActive={setActive} />
    </>
  );
}

function describeExtent(shown: number, all: number | undefined, isOlder: boolean): string {
  if (shown === all) return all === 1 ? 'One call' : `All ${all.toLocaleString()} calls`;
  return `${isOlder ? 'Older calls:' : 'Newest'} ${shown}${all === undefined ? '' : ` of ${all.toLocaleString()}`}`;
}

const kinds = [
  ['deciding', 'gates'],
  ['held', 'waiting for approval'],
  ['waiting', 'waiting to retry'],
  ['running', 'running (colored by outcome)'],
] as const;

function Legend(): ReactNode {
  return (
    <ul className="lane-legend" aria-label="Legend">
      {kinds.map(([kind, words]) => (
        <li key={kind} data-tone="active">
          <span className="span" data-kind={kind} aria-hidden="true" />
          {words}
        </li>
      ))}
      <li>
        <span className="link-mark" aria-hidden="true" />
        related calls
      </li>
    </ul>
  );
}

const Figure = ({ label, value }: { readonly label: string; readonly value: number }): ReactNode => (
  <div>
    <dt>{label}</dt>
    <dd>{value.toLocaleString()}</dd>
  </div>
);

/** Reloads when the session changes. */
function useChanges(sessionId: string, reloads: readonly (() => void)[]): void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const current = useRef(reloads);
  current.current = reloads;
  const read = (): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => current.current.forEach((reload) => reload()), gatherMs);
  };
  useFeed({ after: 'now', sessionId }, read);
  useEffect(() => () => clearTimeout(timer.current), []);
}
