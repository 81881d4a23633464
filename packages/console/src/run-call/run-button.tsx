import type { ReactNode } from 'react';
import { useState } from 'react';
import { useMay } from '../api/use-me.ts';
import { RunDialog } from './run-dialog.tsx';
import type { RunRequest } from './run-dialog.tsx';

/** Opens the form that makes a call. Only operators and admins may make calls. */
export function RunButton({
  label,
  request,
}: {
  readonly label: string;
  readonly request: RunRequest;
}): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const may = useMay('operator');
  return (
    <>
      <button
        type="button"
        disabled={!may}
        title={may ? undefined : 'Only operators and admins can make calls.'}
        onClick={() => setOpen(true)}
      >
        {label}
      </button>
      {isOpen && <RunDialog request={request} onClose={() => setOpen(false)} />}
    </>
  );
}
