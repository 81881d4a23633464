import type { ReactNode } from 'react';
import { useContext } from 'react';
import type { ApiError } from '../api/client.ts';
import { OfflineContext } from '../api/offline.ts';
import { Prose } from './prose.tsx';

/** An error in the server's words, with a retry button. */
export function Problem({
  error,
  onRetry,
}: {
  readonly error: ApiError;
  readonly onRetry?: () => void;
}): ReactNode {
  const isSaid = useContext(OfflineContext);
  // Failed reads are retried automatically. A failed write is not, so its error is always shown.
  if (isSaid && error.code === 'console.offline' && onRetry !== undefined) return null;
  return (
    <div className="problem" role="alert">
      <p>
        <Prose text={error.message} />
      </p>
      <p className="muted">
        <code>{error.code}</code>
      </p>
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          Retry
        </button>
      )}
    </div>
  );
}
