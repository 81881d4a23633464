import type { ReactNode } from 'react';
import { remainingTime } from 'quittance/internal/view/remaining-time';
import { useServerNow } from '../../ui/time.tsx';

type Props = {
  readonly expiresAt: number | undefined;
  readonly timeoutEffect: 'block' | 'allow';
  /** For list rows: only the time. */
  readonly short?: boolean;
};

const soonMs = 60_000;

/** Time left to answer. The ledger's clock decides, so the buttons stay enabled. */
export function Countdown({ expiresAt, timeoutEffect, short = false }: Props): ReactNode {
  const now = useServerNow(1_000);
  if (expiresAt === undefined) return null;
  const left = expiresAt - now;
  const then = timeoutEffect === 'allow' ? 'it runs' : 'it is denied';
  return (
    <span className="countdown" data-soon={left < soonMs} role={short ? undefined : 'timer'}>
      {left > 0
        ? `${remainingTime(left)} left${short ? '' : `, then ${then}`}`
        : short
          ? 'expired'
          : 'Expired. An answer may come too late'}
    </span>
  );
}
