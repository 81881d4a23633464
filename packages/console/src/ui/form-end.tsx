import type { ReactNode } from 'react';
import type { ApiError } from '../api/client.ts';
import { Problem } from './problem.tsx';

type Props = {
  /** Why the server refused what was sent. */
  readonly error: ApiError | undefined;
  readonly isSending: boolean;
  readonly tone?: 'primary' | 'danger';
  /** Label of the button that sends the form. */
  readonly children: ReactNode;
  readonly onClose: () => void;
};

/** The end of a form: what went wrong, the button that sends it, and one that cancels. */
export const FormEnd = ({ error, isSending, tone = 'primary', children, onClose }: Props): ReactNode => (
  <>
    {error !== undefined && <Problem error={error} />}
    <div className="actions">
      <button type="submit" className={tone} disabled={isSending}>
        {children}
      </button>
      <button type="button" onClick={onClose}>
        Cancel
      </button>
    </div>
  </>
);
