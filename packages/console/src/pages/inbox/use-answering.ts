/**
 * From a click to a recorded decision.
 *
 * 1. An answer applies to the shown content, which must have been visible long enough to read. A click or key right
 * after a change does not count.
 * 2. Each question gets one answer, whatever the user presses meanwhile (`useConsent`).
 * 3. A second person learns who decided first.
 */
import { useEffect, useState } from 'react';
import { shownId } from 'quittance/internal/base/safe-id';
import type { SessionTerms } from '@quittance/server/internal/http/api/confirmation';
import type { OnDecide } from '@quittance/react/src/use-consent.ts';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import type { ToolCallView } from 'quittance/internal/view/tool-call-view';
import { pathOf, send } from '../../api/client.ts';
import { tellDecided } from '../../api/on-decided.ts';
import { toApiError } from '../../api/use-answer.ts';
import { useMay } from '../../api/use-me.ts';
import { useToast } from '../../ui/toast.tsx';

export const seenAfterMs = 400;

export type Answering = {
  /** Undefined for users who may not decide. */
  readonly onDecide: OnDecide | undefined;
  /** Has the content been visible long enough? */
  readonly isSeen: boolean;
  /** The recorded answer came from this page. */
  readonly isMine: boolean;
  /** This page sent an answer, but another person was first. */
  readonly isTooLate: boolean;
};

/** `terms`: an approval also covers the next calls of the session. */
export function useAnswering(
  call: ToolCallView | undefined,
  reload: () => void,
  terms: SessionTerms | undefined,
): Answering {
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
    if (!isSeen) throw new Error('The question just changed. Check it again before you answer.');
    try {
      const view = await send<ConfirmationView>(
        pathOf('confirmations', confirmationId, 'decision'),
        decision.decision === 'approve' && terms !== undefined
          ? { ...decision, forSession: terms }
          : decision,
      );
      setAnswered({ id: confirmationId, how: 'mine' });
      tellDecided();
      showToast(`${doneWords[decision.decision]} ${shownId(view.displayName || view.toolName)}.`);
      reload();
    } catch (thrown) {
      const error = toApiError(thrown);
      if (error.code === 'confirmation.decided') setAnswered({ id: confirmationId, how: 'late' });
      // The refusal may mean that the state changed: show the current state.
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
  edit: 'Approved with edited arguments:',
  respond: 'Answered',
} as const;

/** Has the same content been shown for a while? */
function useSeen(shown: string | undefined): boolean {
  const [seen, setSeen] = useState<string | undefined>(undefined);
  useEffect(() => {
    if (shown === undefined) return;
    const timer = setTimeout(() => setSeen(shown), seenAfterMs);
    return () => clearTimeout(timer);
  }, [shown]);
  return shown !== undefined && seen === shown;
}
