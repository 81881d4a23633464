/** Work the server does for a while: started here, followed, stopped, and found again after a reload or elsewhere. */
import { useCallback, useEffect, useState } from 'react';
import type { Job, JobList } from '../../../src/http/api/job.ts';
import type { ApiError } from './client.ts';
import { get, pathOf, send } from './client.ts';
import { openEventStream } from './event-stream.ts';
import { toApiError } from './use-answer.ts';
import { useMe } from './use-me.ts';

export type FollowedJob<Kind extends Job['kind']> = {
  readonly job: (Job & { readonly kind: Kind }) | undefined;
  /** Why it could not be started, followed or stopped. */
  readonly error: ApiError | undefined;
  /** Asked for, and not yet answered. */
  readonly starting: boolean;
  readonly start: (body: unknown) => void;
  readonly stop: () => void;
};

const againMs = 1_000;

const startPaths: Readonly<Record<Job['kind'], string>> = {
  verify: '/v1/verify',
  backtest: '/v1/contracts/backtest',
};

/**
 * The last job of its kind that this tab started; where it started none, the one that runs. A verification is
 * everybody's; a backtest is of a draft, and so of whoever started it alone.
 */
export function useJob<Kind extends Job['kind']>(kind: Kind): FollowedJob<Kind> {
  const { name } = useMe();
  const storeName = `quittance.job.${kind}`;
  type Own = Job & { readonly kind: Kind };
  const [jobId, setJobId] = useState(() => window.sessionStorage.getItem(storeName));
  const [job, setJob] = useState<Own | undefined>(undefined);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [starting, setStarting] = useState(false);

  useEffect(() => {
    if (jobId !== null) return;
    const left = new AbortController();
    get<JobList>('/v1/jobs', { kind, limit: 10 }, left.signal).then(
      ({ rows }) => {
        const found = rows.find(
          ({ status, startedBy }) => status === 'running' && (kind === 'verify' || startedBy === name),
        );
        // One that was started here meanwhile goes before.
        if (found !== undefined && !left.signal.aborted) setJobId((now) => now ?? found.jobId);
      },
      () => undefined, // nothing was asked for yet: there is nothing to tell
    );
    return () => left.abort();
  }, [jobId, kind, name]);

  useEffect(() => {
    if (jobId === null) return;
    let heard = false;
    let close = (): void => undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const listen = (): void => {
      close = openEventStream(`${pathOf('jobs', jobId)}/events`, {
        onMessage: (type, data) => {
          if (type !== 'job') return;
          heard = true;
          const told = JSON.parse(data) as Job;
          if (told.kind === kind) setJob(told as Own); // which is what was just compared
          if (told.status !== 'running') close();
        },
        onEnd: (refused) => {
          if (refused) askWhy();
          else timer = setTimeout(listen, againMs);
        },
      });
    };
    const askWhy = (): void => {
      get<Own>(pathOf('jobs', jobId)).then(setJob, (reason: unknown) => {
        const refused = toApiError(reason);
        // Of an earlier visit, and the server has been started again: nothing to tell.
        if (refused.status === 404 && !heard) {
          window.sessionStorage.removeItem(storeName);
          setJobId(null);
        } else setError(refused);
      });
    };
    listen();
    return () => {
      clearTimeout(timer);
      close();
    };
  }, [jobId, kind, storeName]);

  const start = useCallback(
    (body: unknown) => {
      setStarting(true);
      setError(undefined);
      send<Own>(startPaths[kind], body)
        .then(
          (started) => {
            window.sessionStorage.setItem(storeName, started.jobId);
            setJob(started);
            setJobId(started.jobId);
          },
          (reason: unknown) => setError(toApiError(reason)),
        )
        .finally(() => setStarting(false));
    },
    [kind, storeName],
  );

  const stop = useCallback(() => {
    if (jobId === null) return;
    send(pathOf('jobs', jobId), undefined, 'DELETE').catch((reason: unknown) => setError(toApiError(reason)));
  }, [jobId]);

  return { job, error, starting, start, stop };
}
