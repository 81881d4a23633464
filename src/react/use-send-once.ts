import { useRef, useState } from 'react';
import { describeThrown } from '../tool/describe-thrown.ts';

/** Something that may be sent once: the answer to one question, the undoing of one call. */
export type Sending<Request> = {
  readonly status: 'ready' | 'sending' | 'sent';
  /** What was sent, or is being sent. */
  readonly request: Request | undefined;
  /** Why the last one was refused; another may be sent then. */
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
 * Sends at most one request about a subject, whatever is clicked meanwhile; only a refusal frees it again. With another
 * subject everything begins anew. The lock is no state: of two clicks in one moment the second must find it.
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

/** What went wrong, if anything did. */
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
