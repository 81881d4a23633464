/** A long-running job on the server. A page can start, follow and stop it, and finds it again after a reload. */
import { useCallback, useEffect, useState } from 'react';
import type { Job, JobList } from '@quittance/server/internal/http/api/job';
import type { ApiError } from './client.ts';
import { get, pathOf, send } from './client.ts';
import { openEventStream } from './event-stream.ts';
import { toApiError } from './use-answer.ts';
import { useMe } from './use-me.ts';

type JobOf<Kind extends Job['kind']> = Job & { readonly kind: Kind };

export type FollowedJob<Kind extends Job['kind']> = {
  readonly job: JobOf<Kind> | undefined;
  /** Error from starting, following or stopping the job. */
  readonly error: ApiError | undefined;
  /** The start request is pending. */
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
 * The last job of this kind started in this tab, or else the one that is running. All users share a verification. A
 * backtest belongs to the user who started it, because its draft does.
 */
export function useJob<Kind extends Job['kind']>(kind: Kind): FollowedJob<Kind> {
  const storeName = `quittance.job.${kind}`;
  const [jobId, setJobId] = useState(() => window.sessionStorage.getItem(storeName));
  const [job, setJob] = useState<JobOf<Kind> | undefined>(undefined);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [starting, setStarting] = useState(false);

  // A job started here in the meantime takes precedence.
  const find = useCallback((found: string) => setJobId((now) => now ?? found), []);
  useRunningJob(kind, jobId === null, find);

  const forget = useCallback(() => {
    window.sessionStorage.removeItem(storeName);
    setJobId(null);
  }, [storeName]);
  useJobEvents<Kind>(kind, jobId, { onJob: setJob, onGone: forget, onError: setError });

  const start = useCallback(
    (body: unknown) => {
      setStarting(true);
      setError(undefined);
      send<JobOf<Kind>>(startPaths[kind], body)
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

/** Looks for a running job that this user may follow, unless one is known. */
function useRunningJob(kind: Job['kind'], isWanted: boolean, onFound: (jobId: string) => void): void {
  const { name } = useMe();
  useEffect(() => {
    if (!isWanted) return;
    const left = new AbortController();
    get<JobList>('/v1/jobs', { kind, limit: 10 }, left.signal).then(
      ({ rows }) => {
        const found = rows.find(
          ({ status, startedBy }) => status === 'running' && (kind === 'verify' || startedBy === name),
        );
        if (found !== undefined && !left.signal.aborted) onFound(found.jobId);
      },
      () => undefined, // The user did not ask for this, so the error is not shown.
    );
    return () => left.abort();
  }, [isWanted, kind, name, onFound]);
}

/** Follows the events of a job. The handlers must be stable. */
function useJobEvents<Kind extends Job['kind']>(
  kind: Kind,
  jobId: string | null,
  {
    onJob,
    onGone,
    onError,
  }: {
    readonly onJob: (job: JobOf<Kind>) => void;
    /** The server does not know the job: it has restarted since an earlier visit. */
    readonly onGone: () => void;
    readonly onError: (error: ApiError) => void;
  },
): void {
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
          const job = JSON.parse(data) as Job;
          if (job.kind === kind) onJob(job as JobOf<Kind>); // The kind was just compared.
          if (job.status !== 'running') close();
        },
        onEnd: (refused) => {
          if (refused) askWhy();
          else timer = setTimeout(listen, againMs);
        },
      });
    };
    const askWhy = (): void => {
      get<JobOf<Kind>>(pathOf('jobs', jobId)).then(onJob, (reason: unknown) => {
        const refused = toApiError(reason);
        if (refused.status === 404 && !heard) onGone();
        else onError(refused);
      });
    };
    listen();
    return () => {
      clearTimeout(timer);
      close();
    };
  }, [jobId, kind, onJob, onGone, onError]);
}
