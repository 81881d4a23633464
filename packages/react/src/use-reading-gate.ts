/**
 * Decides whether a person may run a call from the current view. They must have viewed all of it or waived that, and
 * nothing may have moved just before. The card and the console share this gate.
 */
import type { RefObject } from 'react';
import { useRef, useState, useCallback, useEffect } from 'react';
import type { ToolCallView } from 'quittance/internal/view/tool-call-view';
import type { Consent, HowRead } from './use-consent.ts';
import type { ReadingProgress } from './use-reading.ts';
import { useReading } from './use-reading.ts';

export type ReadingGate = {
  /** Refs for the watched elements: the subject of the question, the answer bar and the approve button. */
  readonly panel: RefObject<HTMLDivElement | null>;
  readonly answers: RefObject<HTMLDivElement | null>;
  readonly approval: RefObject<HTMLButtonElement | null>;
  readonly reading: ReadingProgress;
  /** The person chose to decide without reading to the end. */
  readonly isWaived: boolean;
  readonly waive: (isWaived: boolean) => void;
  readonly mayRun: boolean;
  readonly isStill: boolean;
  /** Has the shown text stayed the same for a moment? */
  readonly isTextStill: () => boolean;
  /** An approval was rejected because the view had just changed or moved. */
  readonly hasMoved: boolean;
  readonly approve: () => void;
  /** Reading statement for an answer that runs the call. */
  readonly howRead: HowRead;
};

export function useReadingGate(call: ToolCallView, consent: Consent): ReadingGate {
  const { confirmation, canApprove } = consent;
  const [panel, answers] = [useRef<HTMLDivElement | null>(null), useRef<HTMLDivElement | null>(null)];
  const approval = useRef<HTMLButtonElement | null>(null);
  // Reading and waiver apply to this input with this preview only.
  const subject = `${confirmation.inputDigest ?? ''} ${confirmation.revision ?? ''} ${call.preview?.revision ?? ''}`;
  const still = useStill(subject, approval);
  const reading = useReading(panel, answers, subject);
  const [waived, setWaived] = useState<string | undefined>(undefined);
  const [hasMoved, setHasMoved] = useState(false);
  const isWaived = waived === subject;
  const mayRun = canApprove && (reading.isRead || isWaived);
  const howRead: HowRead = reading.isRead ? {} : { notReadToEnd: true };
  return {
    panel,
    answers,
    approval,
    reading,
    isWaived,
    waive: (isSet) => setWaived(isSet ? subject : undefined),
    mayRun,
    isStill: still.isStill,
    isTextStill: still.checkText,
    hasMoved,
    approve: () => {
      const isStill = still.check();
      setHasMoved(!isStill);
      if (isStill && mayRun) consent.approve(howRead);
    },
    howRead,
  };
}

/** Text and position must stay unchanged for this long before a person can answer. */
const stillAfterMs = 400;
const lookEveryMs = 100;

type Still = {
  readonly isStill: boolean;
  /** Called on click: checks once more whether anything moved. */
  readonly check: () => boolean;
  /** The same without the position of the button, for forms that move it themselves. */
  readonly checkText: () => boolean;
};

/**
 * Guards a button against a misdirected click: one right after the text changed or the button moved under the pointer.
 * `shown` identifies the text.
 */
function useStill(shown: string, button: RefObject<HTMLElement | null>): Still {
  const last = useRef({
    shown: '',
    place: '',
    since: Number.POSITIVE_INFINITY,
    textSince: Number.POSITIVE_INFINITY,
  });
  const [isStill, setStill] = useState(false);
  const latest = useRef(shown);
  latest.current = shown;

  const look = useCallback((): boolean => {
    const now = performance.now();
    const { left, top, width, height } = button.current?.getBoundingClientRect() ?? new DOMRect();
    const place = [left, top, width, height].map(Math.round).join(' ');
    if (last.current.shown !== latest.current || last.current.place !== place)
      last.current = {
        shown: latest.current,
        place,
        since: now,
        textSince: last.current.shown === latest.current ? last.current.textSince : now,
      };
    const still = now - last.current.since >= stillAfterMs;
    setStill(still);
    return still;
  }, [button]);

  useEffect(() => {
    look();
    const timer = setInterval(look, lookEveryMs);
    return () => clearInterval(timer);
  }, [look, shown]);

  const checkText = useCallback((): boolean => {
    look();
    return performance.now() - last.current.textSince >= stillAfterMs;
  }, [look]);
  return { isStill, check: look, checkText };
}
