import type { ReactNode } from 'react';
import type { SessionDetail } from '@quittance/server/internal/http/api/session';
import { addressOf } from '../../route.ts';
import { ForeignId } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';

/** The origin of a forked session, and a link to the comparison. */
export function ForkNote({
  sessionId,
  fork: { fromSessionId, atCallId },
}: {
  readonly sessionId: string;
  readonly fork: NonNullable<SessionDetail['fork']>;
}): ReactNode {
  return (
    <p className="fork-note">
      <span>
        Fork of{' '}
        <Link to={addressOf(['sessions', fromSessionId])}>
          <ForeignId id={fromSessionId} />
        </Link>
        {atCallId !== undefined && (
          <>
            {' '}
            from call{' '}
            <Link to={addressOf(['calls', fromSessionId, atCallId])}>
              <ForeignId id={atCallId} />
            </Link>
          </>
        )}
      </span>
      <Link className="button primary" to={addressOf(['sessions', fromSessionId], { compare: sessionId })}>
        Compare the two
      </Link>
    </p>
  );
}
