import { useEffect, useRef } from 'react';
import type { MyQuestions } from '@quittance/server/internal/http/api/me';
import { addressOf, goTo } from '../route.ts';
import { isNotifying, showNotice } from './show-notice.ts';

/** Notifies of each question that begins to wait for this person while the page is open and not looked at. */
export function useQuestionNotices(questions: MyQuestions | undefined): void {
  const known = useRef<ReadonlySet<string> | undefined>(undefined);
  useEffect(() => {
    if (questions === undefined) return;
    const before = known.current;
    known.current = new Set(questions.rows.map(({ confirmationId }) => confirmationId));
    // What waited when the page was opened is on the page.
    if (before === undefined || !isNotifying() || document.hasFocus()) return;
    for (const { confirmationId, tool } of questions.rows.filter((row) => !before.has(row.confirmationId)))
      showNotice({
        tag: confirmationId,
        title: 'Approval needed',
        body: tool,
        onOpen: () => goTo(addressOf(['inbox', confirmationId])),
      });
  }, [questions]);
}
