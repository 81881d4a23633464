import { useState } from 'react';
import type { ContractsReload } from '@quittance/server/internal/http/api/contract';
import { send } from '../../api/client.ts';
import { toApiError } from '../../api/use-answer.ts';
import { useToast } from '../../ui/toast.tsx';

export type Reload = {
  readonly start: () => void;
  readonly busy: boolean;
  /** Errors of the last reload; the old rules stayed in force. */
  readonly refused: ContractsReload | undefined;
};

/** Makes the server reload the rules. */
export function useReload(onReloaded: () => void): Reload {
  const showToast = useToast();
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<ContractsReload | undefined>(undefined);
  const start = (): void => {
    setBusy(true);
    send<ContractsReload>('/v1/contracts/reload', undefined)
      .then(
        (answer) => {
          setRefused(answer.ok ? undefined : answer);
          if (answer.ok)
            showToast(answer.changed ? 'New rules are in force.' : 'The rules have not changed.');
          onReloaded();
        },
        (error: unknown) => showToast(toApiError(error).message, 'bad'),
      )
      .finally(() => setBusy(false));
  };
  return { start, busy, refused };
}
