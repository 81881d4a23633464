import { useRef, useState } from 'react';
import { describeThrown } from 'quittance/internal/tool/describe-thrown';

/** A request that is sent at most once: an answer to a question, or an undo. */
export type Sending<Request> = {
  readonly status: 'ready' | 'sending' | 'sent';
  /** The request sent or being sent. */
  readonly request: Request | undefined;
  /** Error of the last request. Another may be sent after it. */
  readonly error: Error | undefined;
  readonly send: (request: Request) => void;
};

type Progress<Request> = {
  readonly subject: string;
  readonly status: Sending<Request>['status'];
  readonly request: Request | undefined;
  readonly error: Error | undefined;
};

/**
 * Sends at most one request per subject, however often a person clicks. Only an error allows another. A new subject
 * starts over. The lock is a ref, not state: the second of two clicks in the same moment must see it.
 */
export function useSendOnce<Request>(
  subject: string | undefined,
  deliver: ((request: Request) => unknown) | undefined,
): Sending<Request> {
  const locked = useRef<string | undefined>(undefined);
  const [last, setLast] = useState<Progress<Request> | undefined>(undefined);
  const current = last?.subject === subject ? last : undefined;

  const send = (request: Request): void => {
    if (subject === undefined || deliver === undefined || locked.current === subject) return;
    locked.current = subject;
    setLast({ subject, status: 'sending', request, error: undefined });
    void settle(deliver, request).then((error) => {
      if (error !== undefined && locked.current === subject) locked.current = undefined;
      const status = error === undefined ? 'sent' : 'ready';
      setLast((now) => (now?.subject === subject ? { subject, status, request, error } : now));
    });
  };
  return {
    status: current?.status ?? 'ready',
    request: current?.request,
    error: current?.error,
    send,
  };
}

/** Returns the error, if there was one. */
async function settle<Request>(
  deliver: (request: Request) => unknown,
  request: Request,
): Promise<Error | undefined> {
  try {
    await deliver(request);
    return undefined;
  } catch (thrown) {
    return thrown instanceof Error ? thrown : new Error(describeThrown(thrown));
  }
}
