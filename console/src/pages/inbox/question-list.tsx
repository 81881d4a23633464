/** The questions that wait, one below the other. However many there are, only those in sight are in the page. */
import { useVirtualizer } from '@tanstack/react-virtual';
import type { ReactNode } from 'react';
import { useEffect, useRef } from 'react';
import { safeText } from '../../../../src/base/safe-text.ts';
import type { ConfirmationView } from '../../../../src/runtime/confirmation-view.ts';
import { addressOf } from '../../router.ts';
import { Link } from '../../ui/link.tsx';
import { Age } from '../../ui/time.tsx';
import { Countdown } from './countdown.tsx';
import { riskLevel, riskWords } from './risk.ts';

const rowHeight = 84;

type Props = {
  readonly questions: readonly ConfirmationView[];
  readonly selected: string | undefined;
  readonly query: Readonly<Record<string, string | undefined>>;
  /** Grows when the selection was moved by keys: the row gets the focus then. */
  readonly moves: number;
  readonly onEnd: () => void;
};

export function QuestionList({ questions, selected, query, moves, onEnd }: Props): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: questions.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => questions[index]?.confirmationId ?? index,
    overscan: 6,
  });
  const shown = rows.getVirtualItems();
  const lastShown = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (lastShown >= questions.length - 1) onEnd();
  }, [lastShown, questions.length, onEnd]);
  const at = questions.findIndex(({ confirmationId }) => confirmationId === selected);
  const handled = useRef(moves);
  useEffect(() => {
    if (handled.current === moves || at === -1) return;
    handled.current = moves;
    rows.scrollToIndex(at);
    // The row may only come with the next frame.
    const frame = requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>('[aria-current]')?.focus({ preventScroll: true }),
    );
    return () => cancelAnimationFrame(frame);
  }, [moves, at, rows]);
  return (
    <div className="question-list" ref={scroller}>
      <ul style={{ height: rows.getTotalSize() }} aria-label="Questions that wait">
        {shown.map(({ index, key, start }) => {
          const question = questions[index];
          return (
            question !== undefined && (
              <li key={key} style={{ height: rowHeight, transform: `translateY(${start}px)` }}>
                <Row question={question} isSelected={question.confirmationId === selected} query={query} />
              </li>
            )
          );
        })}
      </ul>
    </div>
  );
}

function Row({
  question,
  isSelected,
  query,
}: {
  readonly question: ConfirmationView;
  readonly isSelected: boolean;
  readonly query: Props['query'];
}): ReactNode {
  const { confirmationId, displayName, toolName, description, sessionId, createdAt, risk } = question;
  const { word, tone } = riskWords[riskLevel(risk)];
  return (
    <Link
      to={addressOf(['inbox', confirmationId], query)}
      className="question-row"
      aria-current={isSelected ? 'true' : undefined}
      data-tone={tone}
    >
      <span className="question-row-top">
        <strong className="clip">
          <bdi>{safeText(displayName || toolName)}</bdi>
        </strong>
        <Age at={createdAt} />
      </span>
      <span className="clip">{safeText(description)}</span>
      <span className="question-row-foot">
        <span className="risk-word">{word}</span>
        <span className="clip muted">{safeText(sessionId)}</span>
        <Countdown expiresAt={question.expiresAt} timeoutEffect={question.timeoutEffect} short />
      </span>
    </Link>
  );
}
