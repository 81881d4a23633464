import type { ReactNode } from 'react';
import { remainingTime } from '../../../../src/view/remaining-time.ts';
import { useNow } from '../../ui/time.tsx';

type Props = {
  readonly expiresAt: number | undefined;
  readonly timeoutEffect: 'block' | 'allow';
  /** For a row of a list: the time alone. */
  readonly short?: boolean;
};

const soonMs = 60_000;

/** How long there is to answer. The ledger decides, and to the millisecond, so nothing is switched off here. */
export function Countdown({ expiresAt, timeoutEffect, short = false }: Props): ReactNode {
  const now = useNow(1_000);
  if (expiresAt === undefined) return null;
  const left = expiresAt - now;
  const then = timeoutEffect === 'allow' ? 'it runs' : 'it is denied';
  return (
    <span className="countdown" data-soon={left < soonMs} role={short ? undefined : 'timer'}>
      {left > 0
        ? `${remainingTime(left)} left${short ? '' : `, then ${then}`}`
        : short
          ? 'time is up'
          : 'The time is up; an answer may come too late'}
    </span>
  );
}
