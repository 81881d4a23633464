import { useEffect, useRef, useState } from 'react';
import type { ContractsCheck } from '@quittance/server/internal/http/api/contract';
import type { ApiError } from '../../api/client.ts';
import { send } from '../../api/client.ts';
import { toApiError } from '../../api/use-answer.ts';
import type { Documents } from './use-draft.ts';

export type Checked = {
  /** Result for the current documents; undefined while it is pending. */
  readonly check: ContractsCheck | undefined;
  readonly error: ApiError | undefined;
};

const typingMs = 400;

/** Checks the documents after a pause in typing. */
export function useCheck(documents: Documents): Checked {
  const [state, setState] = useState<Checked & { readonly of: string | undefined }>({
    of: undefined,
    check: undefined,
    error: undefined,
  });
  const key = JSON.stringify(documents);
  const latest = useRef(documents);
  latest.current = documents;
  useEffect(() => {
    let isOld = false;
    const timer = setTimeout(() => {
      send<ContractsCheck>('/v1/contracts/validate', { documents: latest.current }).then(
        (check) => !isOld && setState({ of: key, check, error: undefined }),
        (error: unknown) => !isOld && setState({ of: key, check: undefined, error: toApiError(error) }),
      );
    }, typingMs);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [key]);
  // A result for earlier text does not apply.
  return state.of === key ? state : { check: undefined, error: undefined };
}
