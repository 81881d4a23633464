/**
 * Decides whether a person may run a call from the current view. They must have viewed all of it or waived that, and
 * nothing may have moved just before. The card and the console share this gate.
 */
import type { RefObject } from 'react';
import { useRef, useState } from 'react';
import type { ToolCallView } from '../view/tool-call-view.ts';
import type { Consent, HowRead } from './use-consent.ts';
import type { ReadingProgress } from './use-reading.ts';
import { useReading } from './use-reading.ts';
import { useStill } from './use-still.ts';

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
