/**
 * The way from a click to a decision on record.
 *
 * 1. An answer is about what was shown, and what was shown must have stood there long enough to be seen: what changes
 *    under the pointer, or under a finger on a key, is not answered by it.
 * 2. One answer is sent about one question, whatever is pressed meanwhile (`useConsent`).
 * 3. Whoever is second hears who was first.
 */
import { useEffect, useState } from 'react';
import { shownId } from '../../../../src/base/safe-id.ts';
import type { OnDecide } from '../../../../src/react/use-consent.ts';
import type { ConfirmationView } from '../../../../src/runtime/host/confirmation-view.ts';
import type { ToolCallView } from '../../../../src/view/tool-call-view.ts';
import { pathOf, send } from '../../api/client.ts';
import { toApiError } from '../../api/use-answer.ts';
import { useMay } from '../../api/use-me.ts';
import { useToast } from '../../ui/toast.tsx';

export const seenAfterMs = 400;

export type Answering = {
  /** Undefined for somebody who may not decide. */
  readonly onDecide: OnDecide | undefined;
  /** Whether what is shown has been there long enough. */
  readonly isSeen: boolean;
  /** The answer of this page is the one on record. */
  readonly isMine: boolean;
  /** An answer was given here and somebody else's was first. */
  readonly isTooLate: boolean;
};

export function useAnswering(call: ToolCallView | undefined, reload: () => void): Answering {
  const may = useMay('approver');
  const showToast = useToast();
  const asked = call?.confirmation;
  const shown =
    asked === undefined
      ? undefined
      : JSON.stringify([asked.confirmationId, asked.inputDigest, call?.preview?.revision]);
  const isSeen = useSeen(shown);
  const [answered, setAnswered] = useState<{ readonly id: string; readonly how: 'mine' | 'late' }>();

  const onDecide: OnDecide = async (confirmationId, decision) => {
    if (!isSeen) throw new Error('This changed a moment ago. Look at what it shows now, then answer.');
    try {
      const view = await send<ConfirmationView>(
        pathOf('confirmations', confirmationId, 'decision'),
        decision,
      );
      setAnswered({ id: confirmationId, how: 'mine' });
      showToast(`${doneWords[decision.decision]} ${shownId(view.displayName || view.toolName)}.`);
      reload();
    } catch (thrown) {
      const error = toApiError(thrown);
      if (error.code === 'confirmation.decided') setAnswered({ id: confirmationId, how: 'late' });
      // What it refuses may be because things moved on: show how they stand.
      reload();
      throw error;
    }
  };
  const how = answered?.id === asked?.confirmationId ? answered?.how : undefined;
  return {
    onDecide: may ? onDecide : undefined,
    isSeen,
    isMine: how === 'mine',
    isTooLate: how === 'late',
  };
}

const doneWords = {
  approve: 'Approved',
  deny: 'Denied',
  edit: 'Approved with other arguments:',
  respond: 'Answered',
} as const;

/** Whether the same thing has been shown for a while. */
function useSeen(shown: string | undefined): boolean {
  const [seen, setSeen] = useState<string | undefined>(undefined);
  useEffect(() => {
    if (shown === undefined) return;
    const timer = setTimeout(() => setSeen(shown), seenAfterMs);
    return () => clearTimeout(timer);
  }, [shown]);
  return shown !== undefined && seen === shown;
}
