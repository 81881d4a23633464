/** The open questions that wait for this person, also while the page is hidden: its title and notifications need them. */
import { useEffect } from 'react';
import type { MyQuestions } from '@quittance/server/internal/http/api/me';
import { onDecided } from './on-decided.ts';
import { useAnswer } from './use-answer.ts';

const everyMs = 15_000;

/** `held`: how many calls are held, if known. A change of it is a reason to look. */
export function useMyQuestions(held: number | undefined): MyQuestions | undefined {
  const { data, reload } = useAnswer<MyQuestions>('/v1/me/questions');
  useEffect(() => {
    if (held !== undefined) reload();
  }, [held, reload]);
  // A vote leaves the call held.
  useEffect(() => onDecided(reload), [reload]);
  // Unlike polling of pages, it goes on while the page is hidden. Browsers slow the timer down then.
  useEffect(() => {
    const timer = setInterval(reload, everyMs);
    return () => clearInterval(timer);
  }, [reload]);
  return data;
}
