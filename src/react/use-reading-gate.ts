/**
 * Whether a person may let a call run from what is in front of them: all of it has been in view, or they say that they
 * decide without that, and nothing moved a moment ago. The panels of the card and of the console share it.
 */
import type { RefObject } from 'react';
import { useRef, useState } from 'react';
import type { ToolCallView } from '../view/tool-call-view.ts';
import type { Consent, HowRead } from './use-consent.ts';
import type { ReadingProgress } from './use-reading.ts';
import { useReading } from './use-reading.ts';
import { useStill } from './use-still.ts';

export type ReadingGate = {
  /** Put on the elements it watches: all that is asked about, the row of answers, the button that approves. */
  readonly panel: RefObject<HTMLDivElement | null>;
  readonly answers: RefObject<HTMLDivElement | null>;
  readonly approval: RefObject<HTMLButtonElement | null>;
  readonly reading: ReadingProgress;
  /** The person has chosen to decide without reading to the end. */
  readonly isWaived: boolean;
  readonly waive: (isWaived: boolean) => void;
  readonly mayRun: boolean;
  readonly isStill: boolean;
  /** Whether what is shown has been the same text for a while. */
  readonly isTextStill: () => boolean;
  /** An approval was refused because what is shown changed or moved a moment before. */
  readonly hasMoved: boolean;
  readonly approve: () => void;
  /** What an answer that lets the call run says about reading. */
  readonly howRead: HowRead;
};

export function useReadingGate(call: ToolCallView, consent: Consent): ReadingGate {
  const { confirmation, canApprove } = consent;
  const [panel, answers] = [useRef<HTMLDivElement | null>(null), useRef<HTMLDivElement | null>(null)];
  const approval = useRef<HTMLButtonElement | null>(null);
  // What was read, and waived, is this input with this preview, and no other.
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
