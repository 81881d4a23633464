/** Open questions, with the selected one next to the list. Only the address stores the selection. */
import type { ReactNode } from 'react';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import { isLarge, useFeed } from '../../api/use-feed.ts';
import { usePages } from '../../api/use-pages.ts';
import { addressOf, goTo } from '../../route.ts';
import { firstRules } from '../contracts/first-rules.ts';
import { Empty } from '../../ui/empty.tsx';
import { LargeCalls } from '../../ui/large-calls.tsx';
import { Link } from '../../ui/link.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { SideList } from '../../ui/side-list.tsx';
import { useFirstSelected } from '../../ui/use-first-selected.ts';
import { useSideKeys } from '../../ui/use-side-keys.ts';
import { Question } from './question.tsx';
import { QuestionRow } from './question-row.tsx';
import type { InboxOrder } from './risk.ts';
import { riskLevel } from 'quittance/internal/view/risk-level';
import { orderQuestions, riskWords } from './risk.ts';
import { ForeignId } from '../../ui/foreign-text.tsx';

const pageSize = 100;
const againMs = 10_000;
/** Commits within this time cause one reload. */
const gatherMs = 150;

type Props = { readonly confirmationId: string | undefined; readonly order: InboxOrder };

export function Waiting({ confirmationId, order }: Props): ReactNode {
  const pages = usePages<ConfirmationView>(
    '/v1/confirmations',
    { status: 'pending', limit: pageSize },
    ({ confirmationId: id }) => id,
    { everyMs: againMs },
  );
  const { reload, rows, hasMore, loadMore } = pages;
  const questions = useMemo(() => (rows === undefined ? [] : orderQuestions(rows, order)), [rows, order]);
  const { changes, watch } = useChanges(reload);
  const query = useMemo(() => ({ order: order === 'age' ? 'age' : undefined }), [order]);
  const select = useCallback(
    (id: string) => goTo(addressOf(['inbox', id], query), { replace: true }),
    [query],
  );

  useFirstSelected(rows !== undefined, confirmationId, questions[0]?.confirmationId, select);

  const keys = useMemo(() => questions.map(({ confirmationId: id }) => id), [questions]);
  const { moves, next } = useSideKeys(keys, confirmationId, select);
  const onEnd = useCallback(() => {
    if (hasMore) loadMore();
  }, [hasMore, loadMore]);

  if (rows === undefined)
    return pages.error === undefined ? (
      <Skeleton rows={8} />
    ) : (
      <Problem error={pages.error} onRetry={reload} />
    );
  const upNext = questions.find(({ confirmationId: id }) => id === next);
  return (
    <>
      {pages.error !== undefined && <Problem error={pages.error} onRetry={reload} />}
      <LargeCalls calls={pages.large} />
      {questions.length === 0 && confirmationId === undefined ? (
        pages.large.length === 0 && <NothingWaits />
      ) : (
        <div className="split" data-opened={confirmationId !== undefined}>
          <WaitingList
            {...{ questions, hasMore, order, confirmationId, moves, onEnd }}
            to={(id) => addressOf(['inbox', id], query)}
          />
          <div className="split-detail">
            {confirmationId === undefined ? (
              <p className="muted split-none">Select a call to see its question.</p>
            ) : (
              <>
                <Link to={addressOf(['inbox'], query)} className="split-back">
                  ← All questions
                </Link>
                <Question
                  key={confirmationId}
                  confirmationId={confirmationId}
                  changes={changes}
                  onCall={watch}
                  onDecided={reload}
                  next={
                    upNext !== undefined &&
                    upNext.confirmationId !== confirmationId && (
                      <Link className="button" to={addressOf(['inbox', upNext.confirmationId], query)}>
                        Next: <ForeignId id={upNext.displayName || upNext.toolName} />
                      </Link>
                    )
                  }
                />
              </>
            )}
          </div>
        </div>
      )}
    </>
  );
}

type WaitingListProps = {
  readonly questions: readonly ConfirmationView[];
  readonly hasMore: boolean;
  readonly order: InboxOrder;
  readonly confirmationId: string | undefined;
  readonly moves: number;
  readonly onEnd: () => void;
  readonly to: (confirmationId: string) => string;
};

function WaitingList(props: WaitingListProps): ReactNode {
  const { questions, hasMore, order, confirmationId, moves, onEnd, to } = props;
  return (
    <section className="split-list" aria-label="Waiting">
      <header>
        <h2>
          {questions.length}
          {hasMore ? '+' : ''} waiting
        </h2>
        <OrderSwitch order={order} confirmationId={confirmationId} />
      </header>
      {questions.length === 0 && <p className="muted split-none">No other questions.</p>}
      <SideList
        label="Open questions"
        items={questions}
        keyOf={({ confirmationId: id }) => id}
        to={({ confirmationId: id }) => to(id)}
        toneOf={({ risk }) => riskWords[riskLevel(risk)].tone}
        selected={confirmationId}
        moves={moves}
        onEnd={onEnd}
      >
        {(question) => <QuestionRow question={question} />}
      </SideList>
      <p className="muted split-keys">
        <kbd>j</kbd> <kbd>k</kbd> move · <kbd>a</kbd>, then <kbd>Ctrl</kbd>+<kbd>Enter</kbd> approve ·{' '}
        <kbd>d</kbd> deny · <kbd>e</kbd> edit · <kbd>r</kbd> respond
      </p>
    </section>
  );
}

/** Follows the ledger on one connection, because browsers allow few. Reloads the list after a question or an answer. */
function useChanges(reload: () => void): {
  readonly changes: number;
  readonly watch: (sessionId: string, callId: string) => void;
} {
  const [changes, setChanges] = useState(0);
  const watched = useRef<string>('');
  const watch = useCallback((sessionId: string, callId: string) => {
    watched.current = JSON.stringify([sessionId, callId]);
  }, []);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const status = useFeed({ after: 'now' }, (heard) => {
    // An entry too large to send may belong to any call.
    const events = isLarge(heard) ? [] : heard.events;
    const isAbout = events.some(
      (event) => 'callId' in event && JSON.stringify([event.sessionId, event.callId]) === watched.current,
    );
    if (isAbout || isLarge(heard)) setChanges((before) => before + 1);
    if (
      isLarge(heard) ||
      events.some(
        ({ type }) => type === 'tool.held' || type.startsWith('confirmation.') || type === 'tool.responded',
      )
    ) {
      clearTimeout(timer.current);
      timer.current = setTimeout(reload, gatherMs);
    }
  });
  // Changes before the connection opened were missed.
  useEffect(() => {
    if (status !== 'live') return;
    reload();
    setChanges((before) => before + 1);
  }, [status, reload]);
  return { changes, watch };
}

function OrderSwitch({
  order,
  confirmationId,
}: {
  readonly order: InboxOrder;
  readonly confirmationId: string | undefined;
}): ReactNode {
  const path = confirmationId === undefined ? ['inbox'] : ['inbox', confirmationId];
  return (
    <span className="split-order" role="group" aria-label="Order">
      <Link to={addressOf(path)} aria-current={order === 'risk' ? 'true' : undefined}>
        by risk
      </Link>
      <Link to={addressOf(path, { order: 'age' })} aria-current={order === 'age' ? 'true' : undefined}>
        by age
      </Link>
    </span>
  );
}

function NothingWaits(): ReactNode {
  return (
    <Empty title="No open questions" snippet={firstRules}>
      Calls appear here when they need approval: destructive tools without undo, local tools, and calls that a
      rule asks about. Load this rule with <code className="option">--contracts</code> to ask about larger
      refunds:
    </Empty>
  );
}
