import type { ReactNode } from 'react';
import { useContext } from 'react';
import type { ApiError } from '../api/client.ts';
import { OfflineContext } from '../api/offline.ts';
import { Prose } from './prose.tsx';

/** What went wrong, in the server's words, and the way to try again. */
export function Problem({
  error,
  onRetry,
}: {
  readonly error: ApiError;
  readonly onRetry?: () => void;
}): ReactNode {
  const isSaid = useContext(OfflineContext);
  // What was to be read is read again by itself. What was to be sent was not, and must be said.
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
          Try again
        </button>
      )}
    </div>
  );
}
