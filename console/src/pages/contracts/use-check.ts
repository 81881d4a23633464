import { useEffect, useRef, useState } from 'react';
import type { ContractsCheck } from '../../../../src/http/api/contract.ts';
import type { ApiError } from '../../api/client.ts';
import { send } from '../../api/client.ts';
import { toApiError } from '../../api/use-answer.ts';
import type { Documents } from './use-draft.ts';

export type Checked = {
  /** Of the documents as they are now; undefined while that is found out. */
  readonly check: ContractsCheck | undefined;
  readonly error: ApiError | undefined;
};

const typingMs = 400;

/** Whether documents are right, asked a moment after somebody typed. */
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
  // An answer about what was typed before says nothing about this.
  return state.of === key ? state : { check: undefined, error: undefined };
}
