import type { ReactNode } from 'react';
import type { ApiError } from '../api/client.ts';

/** What went wrong, in the server's words, and the way to try again. */
export function Problem({
  error,
  onRetry,
}: {
  readonly error: ApiError;
  readonly onRetry?: () => void;
}): ReactNode {
  return (
    <div className="problem" role="alert">
      <p>{error.message}</p>
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
